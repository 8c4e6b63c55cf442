// How far apart two cores are: the time that a cache line takes from one to the other.
//
// A virtual machine's cores move between caches within seconds, and shared memory is then several
// times slower. Two rows may be compared only if this was alike beside both.
#pragma once
#include <optional>

namespace ff::tools::perf {

// Nanoseconds one way, the best of several bursts, between the first two CPUs this thread may run
// on. Nothing if it may run on one only, or if one of them is too busy to answer. Takes some
// milliseconds; other ranks should be at rest.
std::optional<double> core_to_core_ns();

}  // namespace ff::tools::perf
