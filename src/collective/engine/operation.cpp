#include "collective/engine/operation.hpp"

#include <utility>

namespace ff {

void Operation::complete(ff_status status, Message message) {
  status_ = status;
  message_ = std::move(message);
  engine_.store(nullptr, std::memory_order_relaxed);
  // Acquire for callback_; release for status_, which on_done() reads when it comes second.
  const bool call_back = claimed_.exchange(true, std::memory_order_acq_rel);
  const Callback callback = call_back ? callback_ : nullptr;
  void* const context = call_back ? context_ : nullptr;
  done_.store(true, std::memory_order_release);
  if (call_back) callback(context, status);
}

void Operation::on_done(Callback callback, void* context) {
  callback_ = callback;
  context_ = context;
  if (claimed_.exchange(true, std::memory_order_acq_rel)) callback(context, status_);
}

}  // namespace ff
