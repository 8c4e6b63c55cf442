#include "ff/run/line_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace ff::tools::run {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;  // a pipe's usual capacity
// Longer lines go on in pieces. A piece stays whole, and the pieces stay together unless another
// rank writes in between: waiting for the end could deadlock ranks that wait for each other.
constexpr size_t kLongestLineBytes = size_t{8} << 20;
constexpr size_t kShownWidth = 400;

std::string printable(std::string_view line) {
  std::string text(line.substr(0, kShownWidth));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }, '?');
  if (line.size() > kShownWidth) text += " ...";
  return text;
}

}  // namespace

LineStream::LineStream(Descriptor pipe, Sink& sink, Config config)
    : pipe_(std::move(pipe)), sink_(&sink), config_(std::move(config)) {}

bool LineStream::read_some() {
  static std::array<char, kReadBytes> buffer;  // one thread reads
  const ssize_t got = read(pipe_.get(), buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    at_end_ = true;
    return false;
  }
  const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
  remember(bytes);
  const size_t newline = bytes.rfind('\n');
  const bool ends = newline != std::string_view::npos;
  size_t complete = ends ? newline + 1 : 0;
  if (!config_.whole_lines || (!ends && line_.size() + bytes.size() > kLongestLineBytes))
    complete = bytes.size();
  if (complete > 0) {
    line_ += bytes.substr(0, complete);
    sink_->append(config_.source, config_.tag, line_);
    line_.clear();
  }
  line_ += bytes.substr(complete);
  return true;
}

void LineStream::drain() {
  // Bounded, because a surviving child may write as fast as this reads: twice a pipe's most.
  for (size_t rounds = (size_t{2} << 20) / kReadBytes; open() && rounds > 0; --rounds) {
    if (!read_some()) break;
  }
}

void LineStream::finish() {
  sink_->append(config_.source, config_.tag, line_);
  line_.clear();
  pipe_.reset();
}

void LineStream::remember(std::string_view bytes) {
  if (config_.remember_bytes == 0) return;
  end_ += bytes;
  if (end_.size() > 2 * config_.remember_bytes) end_.erase(0, end_.size() - config_.remember_bytes);
}

std::vector<std::string> LineStream::last_lines(size_t count) const {
  std::vector<std::string> lines;
  std::string_view rest = end_;
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  while (!rest.empty() && lines.size() < count) {
    const size_t newline = rest.rfind('\n');
    lines.push_back(printable(newline == std::string_view::npos ? rest : rest.substr(newline + 1)));
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace ff::tools::run
