#include "api/operation_pool.hpp"

#include <new>

namespace ff {

void PooledOperation::release() {
  // Acquire: the last one out sees all that the others did.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) home_->put_back(this);
}

PooledOperation* OperationPool::take() {
  void* memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      memory = free_.back();
      free_.pop_back();
    }
  }
  if (memory == nullptr) memory = ::operator new(sizeof(PooledOperation));
  auto* operation = new (memory) PooledOperation;
  operation->home_ = this;
  return operation;
}

void OperationPool::put_back(PooledOperation* operation) {
  operation->~PooledOperation();
  const std::lock_guard lock(mutex_);
  free_.push_back(operation);
}

}  // namespace ff
