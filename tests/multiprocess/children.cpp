#include "children.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/check.hpp"

namespace ff::testing_tools {
namespace {

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    FF_CHECK(put > 0, "the parent takes what the child writes");
    done += static_cast<size_t>(put);
  }
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part, static_cast<size_t>(got));
  }
}

}  // namespace

Child::Child(const std::function<std::string(Child& self)>& body) {
  int output[2], arrival[2];
  FF_CHECK(pipe2(output, O_CLOEXEC) == 0 && pipe2(arrival, O_CLOEXEC) == 0, "there are pipes");
  pid_ = fork();
  FF_CHECK(pid_ >= 0, "there is room for another process");
  if (pid_ == 0) {
    close(output[0]);
    close(arrival[0]);
    output_pipe_.reset(output[1]);
    arrival_pipe_.reset(arrival[1]);
    pid_ = getpid();
    write_all(output_pipe_.get(), body(*this));
    _exit(0);
  }
  close(output[1]);
  close(arrival[1]);
  output_pipe_.reset(output[0]);
  arrival_pipe_.reset(arrival[0]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      output_pipe_(std::move(other.output_pipe_)),
      arrival_pipe_(std::move(other.arrival_pipe_)),
      output_(std::move(other.output_)) {}

Child::~Child() {
  if (pid_ < 0 || !output_pipe_.valid()) return;
  send_signal(SIGKILL);
  wait();
}

void Child::arrive() { write_all(arrival_pipe_.get(), "."); }

void Child::await_arrival() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(arrival_pipe_.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
}

void Child::say(const std::string& text) { write_all(output_pipe_.get(), text); }

void Child::forget_parent() {
  output_pipe_.reset();
  arrival_pipe_.reset();
}

void Child::send_signal(int signal) const { kill(pid_, signal); }

void Child::wait() {
  if (!output_pipe_.valid()) return;
  output_ = read_all(output_pipe_.get());
  output_pipe_.reset();
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace ff::testing_tools
