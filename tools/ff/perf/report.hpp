// The text of a run, in nccl-tests' lines: information behind '#', rows of 13 columns.
//
// Scripts count the columns of a row from its right end, so nothing is ever added there but the
// time stamp that -S asks for; what --stats adds stands in a line of its own behind '#'.
#pragma once
#include <string>
#include <vector>

#include "ff/perf/options.hpp"
#include "ff/perf/row.hpp"

namespace ff::tools::perf {

std::string header(const Options& options, uint32_t version, const std::vector<Member>& members);
std::string row_line(const Row& row, int ranks);
std::string stats_line(const Row& row);
std::string footer(const Summary& summary);

std::string csv_header();
std::string csv_line(const Row& row, int ranks);

// `value` in exactly `width` characters, with as many digits as fit: 2 decimals, 1, none, exponent.
std::string fit(double value, int width);

}  // namespace ff::tools::perf
