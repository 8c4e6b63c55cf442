// The C++20 face of Fireflyer: RAII, spans and Result over fireflyer.h.
//
//   auto comm = ff::Communicator::create();            // the job's rank from the environment
//   if (!comm) return fail(comm.error());
//   std::vector<float> gradient = ...;
//   auto sum = comm->all_reduce(gradient, ff::Op::kSum);   // in place
//
// Header-only, without state, and needing nothing but the standard library and the C functions, so
// that a program may be built by another compiler than the library was. What fireflyer.h says of a
// function holds for its namesake here: threads, order of calls, failure. Durations are
// std::chrono; zero means the communicator's default and kNoLimit none.
//
// Misuse that the compiler can see does not compile: a Result ignored, an element type that cannot
// be reduced, send and recv of different types, a const recv, a buffer that is a temporary.
#ifndef FIREFLYER_HPP
#define FIREFLYER_HPP
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>

#include "fireflyer/element.hpp"
#include "fireflyer/fireflyer.h"
#include "fireflyer/result.hpp"

namespace ff {
// Its own inline namespace: these names must not collide, in one program, with those that the
// library uses inside.
inline namespace api {

enum class Op : ff_reduce_op {
  kSum = FF_SUM,
  kProd = FF_PROD,
  kMax = FF_MAX,
  kMin = FF_MIN,
  kAvg = FF_AVG,    // floating-point types only
  kBand = FF_BAND,  // integers and bool only, as the two below
  kBor = FF_BOR,
  kBxor = FF_BXOR,
};

enum class Progress {
  kAuto = FF_PROGRESS_AUTO,
  kCaller = FF_PROGRESS_CALLER,
  kThread = FF_PROGRESS_THREAD,
};

enum class Numerics {
  kDefault = FF_NUMERICS_DEFAULT,
  kAnySize = FF_NUMERICS_ANY_SIZE,
  kAnyLayout = FF_NUMERICS_ANY_LAYOUT,
};

inline constexpr std::chrono::nanoseconds kNoLimit{-1};

// ff_config with owned strings; "", 0 and nullptr mean default. Everything is copied by create().
struct Options {
  int32_t rank = 0;
  int32_t ranks = 0;  // 0: rank and ranks come from the environment
  std::string rendezvous = {};
  std::string name = {};
  std::string secret = {};
  std::optional<ff_id> id = std::nullopt;
  const ff_store* store = nullptr;
  std::chrono::nanoseconds connect_timeout{0};
  std::chrono::nanoseconds call_timeout{0};
  Progress progress = Progress::kAuto;
  Numerics numerics = Numerics::kDefault;
  size_t staging_bytes = 0;
  uint32_t max_outstanding = 0;
  std::string options = {};
  std::function<void(const ff_failure&)> on_failure = {};  // must neither block nor throw
};

// ff_call: options of one call.
struct Call {
  std::chrono::nanoseconds timeout{0};  // from submission
  const char* name = nullptr;           // of the tensor, for errors and stall reports; copied
};

// One submitted call. Owns its handle, not its buffers: they must live until the call is done.
// Destroying an Operation that is not done does not cancel the call, which goes on writing into
// its buffer: wait for it, or flush the communicator, first.
class [[nodiscard]] Operation {
 public:
  // Takes over `handle`; the default one is empty, and waiting for it is FF_ERROR_ARGUMENT.
  explicit Operation(ff_operation* handle = nullptr) : handle_(handle) {}

  [[nodiscard]] Result<void> wait() { return done_within(kNoLimit).status; }

  // True once the call is done, false when `timeout` passed first; the call then goes on.
  [[nodiscard]] Result<bool> wait_for(std::chrono::nanoseconds timeout) {
    return done_within(timeout).as_result();
  }

  // Whether the call is done. Never blocks; drives the communicator a little.
  [[nodiscard]] Result<bool> test() {
    return Outcome(ff_operation_test(handle_.get())).as_result();
  }

  // Calls fn(ff_status) once, when the call is done: on another thread, or here and now if it
  // already is. fn must neither block nor throw. Unless this succeeds, fn is never called.
  template <class F>
  requires std::invocable < std::decay_t<F>
  &, ff_status > [[nodiscard]] Result<void> on_done(F&& fn) {
    using Function = std::decay_t<F>;
    auto owned = std::make_unique<Function>(std::forward<F>(fn));
    const auto call = [](void* context, ff_status status) noexcept {
      const std::unique_ptr<Function> function(static_cast<Function*>(context));
      std::invoke(*function, status);
    };
    if (const ff_status status = ff_operation_on_done(handle_.get(), call, owned.get());
        status != FF_OK) {
      return last_error(status);
    }
    (void)owned.release();  // `call` has it, and may have run already
    return {};
  }

  [[nodiscard]] ff_operation* handle() const { return handle_.get(); }

 private:
  // What the two functions that know FF_IN_PROGRESS return, sorted into done, not yet and failed.
  struct Outcome {
    explicit Outcome(ff_status code) : done(code != FF_IN_PROGRESS) {
      if (code != FF_OK && code != FF_IN_PROGRESS) {
        status = last_error(code);
      }
    }
    Result<bool> as_result() const {
      return status.ok() ? Result<bool>(done) : Result<bool>(status.error());
    }
    bool done;
    Result<void> status;
  };
  Outcome done_within(std::chrono::nanoseconds timeout) {
    return Outcome(ff_operation_wait(handle_.get(), timeout.count()));
  }

  struct Release {
    void operator()(ff_operation* operation) const { ff_operation_release(operation); }
  };
  std::unique_ptr<ff_operation, Release> handle_;
};

// One rank's seat in one group. Destroying it is local and never waits for a peer; calls that are
// unfinished then end with FF_ERROR_ABORTED. After peer lost, timeout, mismatch or abort it is of
// no further use: destroy it and create another.
class [[nodiscard]] Communicator {
 public:
  // Joins the group: collective over its ranks, returns when all have arrived.
  [[nodiscard]] static Result<Communicator> create(const Options& options = {});

  // recv[i] = op over all ranks of send[i]; returns when the result is there. send and recv must
  // have the same length and be the same memory or apart.
  template <Readable Send, Writable Recv>
  requires std::same_as<ElementOf<Send>, ElementOf<Recv>>
  [[nodiscard]] Result<void> all_reduce(Send&& send, Recv&& recv, Op op, const Call& call = {}) {
    return submit(send, recv, op, call, nullptr);
  }

  // The same in place.
  template <Writable Data>
  [[nodiscard]] Result<void> all_reduce(Data&& data, Op op, const Call& call = {}) {
    return submit(data, data, op, call, nullptr);
  }

  // The same, at once: the buffers must live, and stay unchanged by others, until the Operation is
  // done.
  template <Readable Send, Writable Recv>
  requires std::same_as<ElementOf<Send>, ElementOf<Recv>>
  [[nodiscard]] Result<Operation> all_reduce_async(Send&& send, Recv&& recv, Op op,
                                                   const Call& call = {}) {
    ff_operation* operation = nullptr;
    if (auto status = submit(send, recv, op, call, &operation); !status.ok()) {
      return status.error();
    }
    return Operation(operation);
  }
  template <Writable Data>
  [[nodiscard]] Result<Operation> all_reduce_async(Data&& data, Op op, const Call& call = {}) {
    return all_reduce_async(data, data, op, call);
  }

  // Waits until all calls submitted so far are done; the error of the first that failed.
  [[nodiscard]] Result<void> flush(std::chrono::nanoseconds timeout = kNoLimit) {
    return status_of(ff_comm_flush(handle(), timeout.count()));
  }

  // Ends the communicator on every rank; `reason` is part of everybody's error.
  [[nodiscard]] Result<void> abort(const std::string& reason) {
    return status_of(ff_comm_abort(handle(), reason.c_str()));
  }

  // Why the communicator ended; nothing while it works. Never blocks.
  [[nodiscard]] Result<std::optional<ff_failure>> failure() const {
    ff_status ended = FF_OK;
    ff_failure detail = ff_failure_init();
    if (const ff_status status = ff_comm_async_error(handle(), &ended, &detail); status != FF_OK) {
      return last_error(status);
    }
    return ended == FF_OK ? std::nullopt : std::optional<ff_failure>(detail);
  }

  // JSON about this communicator: "explain all_reduce bytes=64M", "config", "members".
  [[nodiscard]] Result<std::string> query(const std::string& what) const;

  [[nodiscard]] int32_t rank() const { return ff_comm_rank(handle()); }
  [[nodiscard]] int32_t ranks() const { return ff_comm_ranks(handle()); }
  [[nodiscard]] ff_comm* handle() const { return handle_.get(); }

 private:
  using OnFailure = std::function<void(const ff_failure&)>;
  // Holds the function that the handle may call, so that it outlives the handle in every move.
  struct Destroy {
    std::unique_ptr<OnFailure> on_failure;
    void operator()(ff_comm* comm) const { (void)ff_comm_destroy(comm); }
  };

  Communicator(ff_comm* handle, std::unique_ptr<OnFailure> on_failure)
      : handle_(handle, Destroy{std::move(on_failure)}) {}

  static Result<void> status_of(ff_status status) {
    return status == FF_OK ? Result<void>() : Result<void>(last_error(status));
  }

  template <class Send, class Recv>
  Result<void> submit(Send& send, Recv& recv, Op op, const Call& call, ff_operation** operation) {
    const size_t count = std::ranges::size(recv);
    if (std::ranges::size(send) != count) {
      return Error{FF_ERROR_ARGUMENT,
                   "all_reduce: send has " + std::to_string(std::ranges::size(send)) +
                       " elements and recv " + std::to_string(count) + "; they must be equal"};
    }
    ff_call options = ff_call_init();
    options.timeout_ns = call.timeout.count();
    options.name = call.name;
    return status_of(ff_all_reduce(handle(), std::ranges::data(send), std::ranges::data(recv),
                                   count, ElementType<ElementOf<Recv>>::value,
                                   static_cast<ff_reduce_op>(op), &options, operation));
  }

  std::unique_ptr<ff_comm, Destroy> handle_;
};

inline Result<Communicator> Communicator::create(const Options& options) {
  const auto text = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
  ff_config config = ff_config_init();
  config.abi = FF_ABI;
  config.rank = options.rank;
  config.ranks = options.ranks;
  config.rendezvous = text(options.rendezvous);
  config.store = options.store;
  config.id = options.id ? &*options.id : nullptr;
  config.name = text(options.name);
  config.secret = text(options.secret);
  config.connect_timeout_ns = options.connect_timeout.count();
  config.call_timeout_ns = options.call_timeout.count();
  config.progress = static_cast<ff_progress>(options.progress);
  config.numerics = static_cast<ff_numerics>(options.numerics);
  config.staging_bytes = options.staging_bytes;
  config.max_outstanding = options.max_outstanding;
  config.options = text(options.options);

  std::unique_ptr<OnFailure> on_failure;
  if (options.on_failure) {
    on_failure = std::make_unique<OnFailure>(options.on_failure);
    config.on_failure_context = on_failure.get();
    config.on_failure = [](void* context, const ff_failure* failure) noexcept {
      (*static_cast<OnFailure*>(context))(*failure);
    };
  }
  ff_comm* handle = nullptr;
  if (const ff_status status = ff_comm_create(&config, &handle); status != FF_OK) {
    return last_error(status);
  }
  return Communicator(handle, std::move(on_failure));
}

namespace detail {

struct FreeText {
  void operator()(char* text) const { ff_free_text(text); }
};

// The text that a C call wrote, now owned by a string; or its error.
inline Result<std::string> take_text(ff_status status, char* text) {
  const std::unique_ptr<char, FreeText> owned(text);
  if (status != FF_OK) {
    return last_error(status);
  }
  return std::string(text);
}

}  // namespace detail

inline Result<std::string> Communicator::query(const std::string& what) const {
  char* json = nullptr;
  const ff_status status = ff_comm_query(handle(), what.c_str(), &json);
  return detail::take_text(status, json);
}

// What a call would do and why, as JSON; needs no communicator. For the words of a request see
// ff_explain.
[[nodiscard]] inline Result<std::string> explain(const std::string& request) {
  char* json = nullptr;
  const ff_status status = ff_explain(request.c_str(), &json);
  return detail::take_text(status, json);
}

// A fresh rendezvous for a group yet to be made: every rank needs the same one.
[[nodiscard]] inline Result<ff_id> make_id() {
  ff_id id;
  if (const ff_status status = ff_id_create(&id); status != FF_OK) {
    return last_error(status);
  }
  return id;
}

}  // namespace api
}  // namespace ff

#endif  // FIREFLYER_HPP
