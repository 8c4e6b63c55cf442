// The job's output: every rank's two streams, the two destinations, and what the launcher itself
// has to say. Lives in the warden's epoll loop; nothing here blocks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ff/run/line_stream.hpp"
#include "ff/run/options.hpp"
#include "ff/run/sink.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {

class Output {
 public:
  // Registers its descriptors with `epoll`: readable streams as `stream_key` + 0, 1, 2, ...,
  // writable destinations as `sink_key` + 0, 1.
  Output(int epoll, uint64_t stream_key, uint64_t sink_key, const Options& options);

  void add_rank(Descriptor output, Descriptor error);  // in the order of ranks
  void on_readable(size_t stream);
  // Takes in all that this rank's process wrote before it ended.
  void rank_ended(int rank);
  // Writes what can be written, pauses or resumes reading. Once after every batch of events.
  void pump();

  // "ff run: `text`" on standard error, never inside a rank's line.
  void say(std::string_view text);
  std::vector<std::string> last_error_lines(int rank, size_t count) const;

  // All writers are gone: takes in what is left, unfinished lines too.
  void finish();
  bool flushed() const;
  // errno of the first destination that failed, unless its reader merely left (EPIPE).
  int write_error() const { return write_error_; }

 private:
  struct Destination {
    Sink sink;
    bool paused = false;           // its streams are not read
    bool armed = false;            // epoll watches it for room
    bool always_writable = false;  // epoll refused it: a file, /dev/null
    bool abandoned = false;
  };
  size_t destination_of(size_t stream) const { return stream % 2 == 0 || one_destination_ ? 0 : 1; }
  void watch(size_t stream);
  void unwatch(size_t stream);
  void end_if_closed(size_t stream);
  void set_paused(size_t destination, bool paused);
  void abandon(size_t destination);
  void arm(size_t destination);

  int epoll_;
  uint64_t stream_key_, sink_key_;
  bool single_rank_;
  bool one_destination_;  // 2>&1: one queue, or lines of the two would mix
  bool tag_output_, tag_error_;
  std::vector<Destination> destinations_;
  std::vector<LineStream> streams_;  // 2 * rank: output, 2 * rank + 1: error
  std::vector<bool> watched_;
  int write_error_ = 0;
};

}  // namespace ff::tools::run
