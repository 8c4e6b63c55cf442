// Descriptors that a forked child must not keep.
//
// O_CLOEXEC helps only where exec follows. A child that lives on (a data loader, say) would hold
// the other end of a dead rank's connection open, and nobody would notice the death. So these few
// descriptors are listed, and a pthread_atfork handler closes them in the child. Children made by a
// raw clone() bypass it.
//
// Thread-safe.
#pragma once
#include "base/file_descriptor.hpp"

namespace ff::bootstrap {

class GuardedDescriptor {
 public:
  GuardedDescriptor() = default;
  explicit GuardedDescriptor(FileDescriptor fd);
  GuardedDescriptor(GuardedDescriptor&& other) noexcept;
  GuardedDescriptor& operator=(GuardedDescriptor&& other) noexcept;
  ~GuardedDescriptor();

  int get() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void reset();

 private:
  FileDescriptor fd_;
};

}  // namespace ff::bootstrap
