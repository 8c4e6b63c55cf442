// The document that -J writes: nccl-tests' keys, and ours beside them.
#pragma once
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ff/perf/options.hpp"
#include "ff/perf/row.hpp"

namespace ff::tools::perf {

// What a run was, for the document's first half.
struct RunInfo {
  std::vector<std::string> words;        // of the command line
  std::vector<std::string> environment;  // "NAME=value"
  uint32_t version = 0;
  std::string start_time, end_time;  // "2026-01-31 23:59:59", local
  std::vector<Member> members;
};

nlohmann::ordered_json document(const Options& options, const RunInfo& info,
                                const std::vector<Row>& rows, const Summary& summary);

// The settings that can have mattered, and no secret: those of the library and of MPI, OpenMP.
std::vector<std::string> relevant_environment(char** environment);

// A new file; where `path` exists, with .0, .1, ... behind it. Created before the run, so that a
// place that cannot be written to costs no measurement.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct OutputFile {
  std::unique_ptr<std::FILE, CloseFile> file;
  std::string path;
  std::string error;  // empty: file is open
};
OutputFile create_output(const std::string& path);

}  // namespace ff::tools::perf
