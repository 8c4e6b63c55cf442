// One submitted call as its caller sees it: pending, then done with a status, once.
//
// Reference-counted: the engine holds a reference until the call is done, the caller's handle
// another. One that lives on a blocking caller's stack has neither. Any thread.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "fireflyer/types.h"

namespace ff {

class Engine;

class Operation {
 public:
  using Callback = void (*)(void* context, ff_status);
  using Message = std::shared_ptr<const std::string>;  // shared by all calls that failed alike

  Operation() = default;
  virtual ~Operation() = default;

  void begin(Engine* engine) { engine_.store(engine, std::memory_order_relaxed); }

  // Acquire: once it is true, the caller may read its buffers.
  bool done() const { return done_.load(std::memory_order_acquire); }
  ff_status status() const { return status_; }         // when done
  const Message& message() const { return message_; }  // when done; of a failure, the whole story
  // nullptr once the call is done: there is nothing left to drive.
  Engine* engine() const { return engine_.load(std::memory_order_acquire); }

  // By the engine, once. Nothing of *this is touched after done() turns true, so a waiter may
  // then destroy it.
  void complete(ff_status status, Message message);
  // At most once. Runs at once, on this thread, if the operation is done.
  void on_done(Callback callback, void* context);

  // For pooled operations; no-ops otherwise.
  virtual void retain() {}
  virtual void release() {}

 private:
  std::atomic<bool> done_{false};
  std::atomic<bool> claimed_{false};  // the second of complete() and on_done() calls back
  std::atomic<Engine*> engine_{nullptr};
  ff_status status_ = FF_OK;
  Message message_;
  Callback callback_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace ff
