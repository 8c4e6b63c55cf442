#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "bootstrap/channel.hpp"
#include "bootstrap/meeting_place.hpp"
#include "topology/detect/node_facts.hpp"
#include "topology/detect/read_file.hpp"

namespace ff::bootstrap {
namespace {

Status write_text(const std::string& path, const std::string& text) {
  int opened = -1;
  do {
    opened = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  } while (opened < 0 && errno == EINTR);
  const FileDescriptor fd(opened);
  if (!fd.valid()) return system_error(fmt::format("creating {}", path), errno);
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error(fmt::format("writing {}", path), errno);
    done += static_cast<size_t>(put);
  }
  return {};
}

// An entry read from the file: read_text() took the newline at its end.
Result<Entry> parse_file(const std::string& text) { return parse_entry(text + "\n"); }

}  // namespace

FilePlace::FilePlace(std::string words, std::string path, uint64_t ordinal)
    : MeetingPlace(std::move(words)),
      path_(ordinal == 0 ? std::move(path) : fmt::format("{}.{}", path, ordinal)),
      ordinal_(ordinal) {}

// The name follows from the file, so that two processes that both believe to be rank 0 ask the
// kernel for the same one. The directory is named by its inode: a container may know it by another
// path.
Result<std::string> FilePlace::name_to_open() {
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == 0 ? "/" : path_.substr(0, slash);
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) {
    return system_error(fmt::format("the directory of the rendezvous file {}", path_), errno);
  }
  return socket_name(
      fmt::format("file:{}:{}:{}", found.st_dev, found.st_ino, path_.substr(slash + 1)), ordinal_);
}

Result<bool> FilePlace::publish() {
  if (const auto text = read_text(path_); text.has_value() && !text->empty()) {
    const Result<Entry> old = parse_file(*text);
    if (!old.ok()) {
      return Status(FF_ERROR_ARGUMENT,
                    fmt::format("the rendezvous file {} exists and holds something else; remove it "
                                "or name another path",
                                path_));
    }
    log(LogLevel::kInfo, "rendezvous file {}: replacing the entry of an earlier run ({})", path_,
        describe_entry(*old));
  }
  FF_ASSIGN_OR_RETURN(const std::string name, name_to_open());
  FF_ASSIGN_OR_RETURN(mine_, own_entry(name));
  // Readers see the old entry or the new one, never half of one. Whoever holds the socket name is
  // the only writer on this host, so the name of the new file may be fixed: a killed writer leaves
  // at most one, which the next replaces.
  const std::string fresh = path_ + ".new";
  FF_RETURN_IF_ERROR(write_text(fresh, format_entry(*mine_)));
  if (rename(fresh.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(fresh.c_str());
    return system_error(fmt::format("renaming {} to {}", fresh, path_), error);
  }
  return true;
}

void FilePlace::withdraw() {
  if (!mine_.has_value()) return;
  const auto text = read_text(path_);
  const Result<Entry> now = parse_file(text.value_or(""));
  if (now.ok() && now->run == mine_->run) unlink(path_.c_str());
  mine_.reset();
}

Result<std::optional<std::string>> FilePlace::find(Time) {
  const auto text = read_text(path_);
  if (!text.has_value() || text->empty()) {
    seen_ = fmt::format("{} holds no entry", path_);
    return std::optional<std::string>();
  }
  const Result<Entry> entry = parse_file(*text);
  if (!entry.ok()) {
    seen_ = fmt::format("{} holds something that is no rendezvous entry", path_);
    return std::optional<std::string>();
  }
  seen_ = fmt::format("{} holds only the entry of {}, and nobody listens at its socket", path_,
                      describe_entry(*entry));
  if (entry->boot != boot_id("/")) return std::optional<std::string>();
  return std::optional<std::string>(entry->socket);
}

}  // namespace ff::bootstrap
