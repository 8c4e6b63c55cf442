// The last error of each thread, and the one way from a Status to an ff_status.
#pragma once
#include "base/status.hpp"

namespace ff {

// Stores the text for ff_last_error() and returns the code. FF_OK leaves the last error alone.
ff_status report_to_caller(const Status& status);
const char* last_error();

}  // namespace ff
