#include "api/process.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <cerrno>
#include <new>

namespace ff {
namespace {

std::mutex creation_mutex;
Process* the_process = nullptr;  // never deleted: threads of the user may be in a call at exit

}  // namespace

Status forked_child_error() {
  return {FF_ERROR_STATE,
          "this process was forked from one that uses Fireflyer: a communicator does not survive "
          "fork(). Call exec first, or create communicators only in the child"};
}

Result<Process*> Process::get() {
  const std::lock_guard lock(creation_mutex);
  if (the_process != nullptr) {
    if (!the_process->is_mine()) return forked_child_error();
    return the_process;
  }
  FF_ASSIGN_OR_RETURN(Bell bell, Bell::create());
  std::unique_ptr<Process> process(new Process(std::move(bell)));
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return system_error("mmap of one page", errno);
  process->marker_ = new (page) std::atomic<uint32_t>(1);
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    const int error = errno;
    munmap(page, 4096);
    return system_error("madvise(WIPEONFORK)", error);
  }
  FF_ASSIGN_OR_RETURN(process->helper_, Helper::create(&process->bell_));
  the_process = process.release();
  return the_process;
}

Result<Process::Mark> Process::publish_segment(const std::shared_ptr<Mapping>& mapping) {
  Mark mark;
  if (getrandom(mark.data(), mark.size(), 0) != static_cast<ssize_t>(mark.size())) {
    return system_error("getrandom", errno);
  }
  const std::lock_guard lock(segments_mutex_);
  std::erase_if(segments_, [](const auto& entry) { return entry.second.expired(); });
  segments_[mark] = mapping;
  return mark;
}

std::shared_ptr<Mapping> Process::find_segment(const Mark& mark) {
  const std::lock_guard lock(segments_mutex_);
  const auto found = segments_.find(mark);
  return found == segments_.end() ? nullptr : found->second.lock();
}

}  // namespace ff
