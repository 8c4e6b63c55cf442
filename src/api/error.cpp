#include "api/error.hpp"

#include <string>

namespace ff {
namespace {

thread_local std::string text = "no error so far";

}  // namespace

ff_status report_to_caller(const Status& status) {
  if (!status.ok()) text = status.message();
  return status.code();
}

const char* last_error() { return text.c_str(); }

}  // namespace ff
