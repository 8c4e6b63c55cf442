#include "ff/run/options.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "ff/run/environment.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {
namespace {

std::string problem_with_export(const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  if (name.empty()) return fmt::format("-x {}: no name in front of \"=\"", text);
  if (is_set_by_launcher(name)) return fmt::format("-x {}: {} is set by ff run itself", text, name);
  return {};
}

std::string problem_with_directory(const std::string& directory) {
  struct stat status = {};
  if (stat(directory.c_str(), &status) != 0)
    return fmt::format("--wdir {}: {}", directory, strerror(errno));
  if (!S_ISDIR(status.st_mode)) return fmt::format("--wdir {}: not a directory", directory);
  return {};
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (size_t count = CPU_SETSIZE;; count *= 2) {
    const auto free_mask = [](cpu_set_t* mask) { CPU_FREE(mask); };
    const std::unique_ptr<cpu_set_t, decltype(free_mask)> mask(CPU_ALLOC(count), free_mask);
    const size_t bytes = CPU_ALLOC_SIZE(count);
    if (sched_getaffinity(0, bytes, mask.get()) != 0) {
      if (errno == EINVAL && count < (size_t{1} << 20)) continue;
      fail("cannot read the affinity mask", errno);
    }
    std::vector<int> cpus;
    for (size_t cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, mask.get())) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
  }
}

std::string problem_with(const Options& options) {
  if (options.ranks < 1) return fmt::format("-n {}: a job has at least one rank", options.ranks);
  if (options.program.empty()) return "no program to run: ff run -n 4 -- program arguments";
  if (options.program.front().empty()) return "the program's name is empty";
  if (options.timeout && options.timeout->count() <= 0)
    return "--timeout: must be more than 0 seconds";
  if (options.grace.count() < 0) return "--grace: must not be negative";
  for (const std::string& text : options.exports) {
    if (std::string problem = problem_with_export(text); !problem.empty()) return problem;
  }
  if (!options.directory.empty()) {
    if (std::string problem = problem_with_directory(options.directory); !problem.empty())
      return problem;
  }
  if (options.bind_cores) {
    const std::vector<int> cpus = allowed_cpus();
    if (static_cast<size_t>(options.ranks) > cpus.size())
      return fmt::format(
          "--bind core: {} ranks need as many CPUs, and this process may use {} ({}); use fewer "
          "ranks or --bind none",
          options.ranks, cpus.size(), fmt::join(cpus, ","));
  }
  return {};
}

}  // namespace ff::tools::run
