// Operations that callers hold: reference-counted, and used again, so that a call allocates nothing
// once the first ones are there.
//
// They outlive their communicator: the pool belongs to the process. Thread-safe.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "collective/engine/operation.hpp"

namespace ff {

class OperationPool;

class PooledOperation final : public Operation {
 public:
  void retain() override { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() override;

 private:
  friend class OperationPool;
  std::atomic<int> references_{1};
  OperationPool* home_ = nullptr;
};

class OperationPool {
 public:
  PooledOperation* take();  // with one reference, the caller's

 private:
  friend class PooledOperation;
  void put_back(PooledOperation* operation);

  std::mutex mutex_;
  std::vector<PooledOperation*> free_;  // raw memory is kept for good: handles may outlive main()
};

}  // namespace ff
