#include "ff/run/output.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace ff::tools::run {
namespace {

constexpr int kLauncherSource = INT_MAX;
constexpr size_t kRememberBytes = size_t{1} << 14;  // of each rank's standard error

bool is_tagged(Tag tag, int fd) { return tag == Tag::kOnTerminal ? isatty(fd) : tag == Tag::kYes; }

}  // namespace

Output::Output(int epoll, uint64_t stream_key, uint64_t sink_key, const Options& options)
    : epoll_(epoll),
      stream_key_(stream_key),
      sink_key_(sink_key),
      single_rank_(options.ranks == 1),
      tag_output_(is_tagged(options.tag, STDOUT_FILENO)),
      tag_error_(is_tagged(options.tag, STDERR_FILENO)) {
  destinations_.push_back({.sink = Sink(STDOUT_FILENO)});
  destinations_.push_back({.sink = Sink(STDERR_FILENO)});
  one_destination_ = destinations_[0].sink.same_destination(destinations_[1].sink);
  if (one_destination_) destinations_.pop_back();
}

void Output::add_rank(Descriptor output, Descriptor error) {
  const size_t rank = streams_.size() / 2;
  for (Descriptor* pipe : {&output, &error}) {
    const size_t stream = streams_.size();
    const bool is_error = stream % 2 == 1;
    Destination& destination = destinations_[destination_of(stream)];
    const bool tagged = is_error ? tag_error_ : tag_output_;
    streams_.emplace_back(std::move(*pipe), destination.sink,
                          LineStream::Config{.source = static_cast<int>(stream),
                                             .tag = tagged ? fmt::format("[{}] ", rank) : "",
                                             .whole_lines = !single_rank_,
                                             .remember_bytes = is_error ? kRememberBytes : 0});
    watched_.push_back(false);
    if (!destination.paused) watch(stream);
  }
}

void Output::watch(size_t stream) {
  if (watched_[stream] || !streams_[stream].open()) return;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = stream_key_ + stream;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, streams_[stream].fd(), &event) != 0)
    fail("cannot watch a rank's output", errno);
  watched_[stream] = true;
}

void Output::unwatch(size_t stream) {
  if (!watched_[stream]) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, streams_[stream].fd(), nullptr);
  watched_[stream] = false;
}

void Output::on_readable(size_t stream) {
  if (!watched_[stream]) return;  // paused or ended by an earlier event of the same batch
  streams_[stream].read_some();
  end_if_closed(stream);
}

void Output::end_if_closed(size_t stream) {
  if (streams_[stream].open()) return;
  unwatch(stream);
  streams_[stream].finish();
}

void Output::rank_ended(int rank) {
  for (const size_t stream : {2 * static_cast<size_t>(rank), 2 * static_cast<size_t>(rank) + 1}) {
    if (stream >= streams_.size()) continue;
    streams_[stream].drain();
    end_if_closed(stream);
  }
}

void Output::pump() {
  for (size_t index = 0; index < destinations_.size(); ++index) {
    Destination& destination = destinations_[index];
    if (destination.abandoned) continue;
    if (destination.sink.flush() != 0) {
      abandon(index);
      continue;
    }
    if (destination.paused != destination.sink.full()) set_paused(index, destination.sink.full());
    arm(index);
  }
}

void Output::set_paused(size_t index, bool paused) {
  destinations_[index].paused = paused;
  for (size_t stream = 0; stream < streams_.size(); ++stream) {
    if (destination_of(stream) != index) continue;
    paused ? unwatch(stream) : watch(stream);
  }
}

// Whoever writes on gets SIGPIPE, just as if its output were not relayed.
void Output::abandon(size_t index) {
  Destination& destination = destinations_[index];
  destination.abandoned = true;
  const int error = destination.sink.error();
  for (size_t stream = 0; stream < streams_.size(); ++stream) {
    if (destination_of(stream) != index) continue;
    unwatch(stream);
    streams_[stream].close();
  }
  if (error == EPIPE || write_error_ != 0) return;
  write_error_ = error;
  say(fmt::format("cannot write the ranks' {}: {}; the job ends",
                  index == 0 ? "standard output" : "standard error", strerror(error)));
}

void Output::arm(size_t index) {
  Destination& destination = destinations_[index];
  const bool wanted = !destination.sink.empty();
  if (wanted == destination.armed || destination.always_writable) return;
  epoll_event event = {};
  event.events = EPOLLOUT;
  event.data.u64 = sink_key_ + index;
  const int operation = wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
  if (epoll_ctl(epoll_, operation, destination.sink.poll_fd(), &event) == 0) {
    destination.armed = wanted;
  } else if (errno == EPERM) {
    destination.always_writable = true;
  } else {
    fail("cannot watch the job's output", errno);
  }
}

void Output::say(std::string_view text) {
  destinations_.back().sink.append(kLauncherSource, "", fmt::format("ff run: {}\n", text));
}

std::vector<std::string> Output::last_error_lines(int rank, size_t count) const {
  const size_t stream = 2 * static_cast<size_t>(rank) + 1;
  return stream < streams_.size() ? streams_[stream].last_lines(count) : std::vector<std::string>();
}

void Output::finish() {
  for (size_t stream = 0; stream < streams_.size(); ++stream) {
    unwatch(stream);
    streams_[stream].drain();
    streams_[stream].finish();
  }
}

bool Output::flushed() const {
  for (const Destination& destination : destinations_) {
    if (!destination.abandoned && !destination.sink.empty()) return false;
  }
  return true;
}

}  // namespace ff::tools::run
