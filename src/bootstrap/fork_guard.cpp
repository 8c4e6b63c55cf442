#include "bootstrap/fork_guard.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/check.hpp"

namespace ff::bootstrap {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<int> open;
};

// Never destroyed: a fork may come after static destructors have begun.
Registry& registry() {
  static Registry& instance = *[] {
    auto* made = new Registry;
    const int error =
        pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                       [] {
                         for (const int fd : registry().open) close(fd);
                         registry().open.clear();
                         registry().mutex.unlock();
                       });
    FF_CHECK(error == 0, "pthread_atfork has memory for one entry");
    return made;
  }();
  return instance;
}

}  // namespace

GuardedDescriptor::GuardedDescriptor(FileDescriptor fd) : fd_(std::move(fd)) {
  if (!fd_.valid()) return;
  const std::lock_guard lock(registry().mutex);
  registry().open.push_back(fd_.get());
}

GuardedDescriptor::GuardedDescriptor(GuardedDescriptor&& other) noexcept = default;

GuardedDescriptor& GuardedDescriptor::operator=(GuardedDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

GuardedDescriptor::~GuardedDescriptor() { reset(); }

void GuardedDescriptor::reset() {
  if (!fd_.valid()) return;
  const std::lock_guard lock(registry().mutex);
  const auto entry = std::ranges::find(registry().open, fd_.get());
  if (entry == registry().open.end()) {
    // A forked child: the handler closed it, and the number may be someone else's by now.
    (void)fd_.release();
    return;
  }
  registry().open.erase(entry);
  fd_.reset();
}

}  // namespace ff::bootstrap
