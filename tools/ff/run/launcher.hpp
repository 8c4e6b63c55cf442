// The process that the user started: keeps a warden, passes signals on to it, and makes sure that
// nothing of the job is left when it is gone.
#pragma once
#include "ff/run/options.hpp"

namespace ff::tools::run {

// Runs the job; returns the exit code of `ff run`. `options` have passed problem_with(). Changes
// the process (signals, subreaper): call once, from its only thread.
int launch(const Options& options);

}  // namespace ff::tools::run
