// The variables by which ranks find each other (docs/config.md lists them all).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ff/run/options.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {

// What all ranks of one job share.
struct JobIdentity {
  std::string rendezvous;  // "name:" and 128 random bits: two jobs of one host never meet
  Descriptor secret;       // sealed memfd with kSecretBytes random bytes; close-on-exec
};
constexpr int kSecretBytes = 32;

JobIdentity make_identity();

bool is_set_by_launcher(std::string_view variable);

// The launcher's own environment, with -x applied and the job's variables set, as NAME=VALUE.
std::vector<std::string> environment_of(int rank, const Options& options,
                                        const JobIdentity& identity);

// The variables named by a plain `-x NAME` that the launcher's environment lacks.
std::vector<std::string> missing_exports(const Options& options);

}  // namespace ff::tools::run
