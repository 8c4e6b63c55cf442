#include "ff/run/system.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ff::tools::run {

Pipe make_pipe(int flags) {
  int ends[2];
  if (pipe2(ends, flags | O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void fail(std::string_view what, int error) {
  const std::string line = fmt::format("ff run: {}: {}{}\n", what, strerror(error),
                                       error == EMFILE ? " (raise ulimit -n)" : "");
  fwrite(line.data(), 1, line.size(), stderr);
  fflush(stderr);
  _exit(1);
}

}  // namespace ff::tools::run
