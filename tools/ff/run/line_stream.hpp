// One rank's standard output or error on its way to a sink: cuts it into whole lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ff/run/sink.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {

class LineStream {
 public:
  struct Config {
    int source;             // names this stream to the sink
    std::string tag;        // in front of each line; empty: none
    bool whole_lines;       // false: pass bytes on at once (a job of one rank has nothing to mix)
    size_t remember_bytes;  // how much of the end last_lines() may look at
  };
  // `pipe` is the non-blocking read end; `sink` must outlive the stream.
  LineStream(Descriptor pipe, Sink& sink, Config config);

  // Reads once and hands complete lines on. Returns whether there may be more to read now.
  bool read_some();
  // Reads what is in the pipe at this moment: all that a process which has ended ever wrote.
  void drain();
  // Hands on an unfinished last line and closes the pipe.
  void finish();
  // Closes the pipe: who still writes to it gets SIGPIPE.
  void close() { pipe_.reset(); }

  bool open() const { return pipe_.valid() && !at_end_; }  // false once all writers closed it
  int fd() const { return pipe_.get(); }
  Sink& sink() const { return *sink_; }

  // The last lines read, at most `count`, oldest first, each cut to a sane width; control
  // characters but tab are replaced.
  std::vector<std::string> last_lines(size_t count) const;

 private:
  void remember(std::string_view bytes);

  Descriptor pipe_;
  bool at_end_ = false;
  Sink* sink_;
  Config config_;
  std::string line_;  // read, but not yet ended by a newline
  std::string end_;   // the last bytes read, at most twice remember_bytes
};

}  // namespace ff::tools::run
