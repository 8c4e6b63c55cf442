// The C face: checks handles, catches what must not cross it, and turns Status into ff_status.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "api/communicator.hpp"
#include "api/error.hpp"
#include "api/sized.hpp"
#include "base/data_type.hpp"
#include "base/log.hpp"
#include "fireflyer/fireflyer.h"
#include "planner/explain.hpp"

namespace ff {
namespace {

Communicator* unwrap(ff_comm* comm) { return reinterpret_cast<Communicator*>(comm); }
const Communicator* unwrap(const ff_comm* comm) {
  return reinterpret_cast<const Communicator*>(comm);
}
PooledOperation* unwrap(ff_operation* operation) {
  return reinterpret_cast<PooledOperation*>(operation);
}

Status null_argument(const char* call, const char* argument) {
  return {FF_ERROR_ARGUMENT, std::string(call) + ": " + argument + " is NULL"};
}

// Runs `body`, which returns a Status. Libraries below may run out of memory and throw; callers in
// C get a code.
template <class Body>
ff_status guarded(const char* call, Body body) {
  try {
    const Status status = body();
    return status.ok() ? FF_OK : report_to_caller(status.with_context(call));
  } catch (const std::bad_alloc&) {
    return report_to_caller({FF_ERROR_RESOURCE, std::string(call) + ": out of memory"});
  } catch (const std::exception& error) {
    return report_to_caller({FF_ERROR_INTERNAL, std::string(call) + ": " + error.what()});
  }
}

// For calls on a communicator: not NULL, not inherited over fork().
Status check(const char*, ff_comm* comm) {
  if (comm == nullptr) return {FF_ERROR_ARGUMENT, "the communicator is NULL"};
  if (!unwrap(comm)->process().is_mine()) return forked_child_error();
  return {};
}

Status result_of(const Operation& operation) {
  if (operation.status() == FF_OK) return {};
  return {operation.status(), operation.message() ? *operation.message() : ""};
}

Status give_text(const std::string& text, char** out) {
  *out = static_cast<char*>(std::malloc(text.size() + 1));
  if (*out == nullptr) return {FF_ERROR_RESOURCE, "out of memory"};
  std::memcpy(*out, text.c_str(), text.size() + 1);
  return {};
}

}  // namespace
}  // namespace ff

using namespace ff;  // this file is the C face of that namespace

extern "C" {

ff_status ff_id_create(ff_id* id) {
  return guarded("ff_id_create", [&]() -> Status {
    if (id == nullptr) return null_argument("ff_id_create", "id");
    FF_ASSIGN_OR_RETURN(const RendezvousId made, create_rendezvous_id());
    static_assert(sizeof made == sizeof id->bytes);
    std::memcpy(id->bytes, made.data(), sizeof id->bytes);
    return {};
  });
}

ff_status ff_comm_create(const ff_config* config, ff_comm** out) {
  return guarded("ff_comm_create", [&]() -> Status {
    if (out == nullptr) return null_argument("ff_comm_create", "out");
    *out = nullptr;
    if (config == nullptr) return null_argument("ff_comm_create", "config");
    FF_ASSIGN_OR_RETURN(const ff_config full, read_sized(config, "ff_config"));
    FF_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> made, Communicator::create(full));
    *out = reinterpret_cast<ff_comm*>(made.release());
    return {};
  });
}

ff_status ff_comm_destroy(ff_comm* comm) {
  if (comm == nullptr) return FF_OK;
  return guarded("ff_comm_destroy", [&]() -> Status {
    FF_RETURN_IF_ERROR(check("ff_comm_destroy", comm));
    delete unwrap(comm);
    return {};
  });
}

ff_status ff_comm_flush(ff_comm* comm, int64_t timeout_ns) {
  return guarded("ff_comm_flush", [&]() -> Status {
    FF_RETURN_IF_ERROR(check("ff_comm_flush", comm));
    return unwrap(comm)->engine().flush(
        std::chrono::nanoseconds(timeout_ns <= 0 ? -1 : timeout_ns));
  });
}

ff_status ff_comm_abort(ff_comm* comm, const char* reason) {
  return guarded("ff_comm_abort", [&]() -> Status {
    FF_RETURN_IF_ERROR(check("ff_comm_abort", comm));
    unwrap(comm)->engine().abort(reason == nullptr ? "no reason given" : reason);
    return {};
  });
}

ff_status ff_comm_async_error(ff_comm* comm, ff_status* out, ff_failure* detail) {
  return guarded("ff_comm_async_error", [&]() -> Status {
    FF_RETURN_IF_ERROR(check("ff_comm_async_error", comm));
    if (out == nullptr) return null_argument("ff_comm_async_error", "out");
    unwrap(comm)->engine().poke();
    const std::optional<Failure> failure = unwrap(comm)->engine().failure();
    *out = failure ? failure->status : FF_OK;
    if (detail != nullptr) {
      FF_ASSIGN_OR_RETURN(ff_failure full, read_sized(detail, "ff_failure"));
      if (failure) unwrap(comm)->fill(*failure, full);
      full.size = detail->size;
      std::memcpy(detail, &full, detail->size);
    }
    return {};
  });
}

int32_t ff_comm_rank(const ff_comm* comm) { return comm == nullptr ? -1 : unwrap(comm)->rank(); }
int32_t ff_comm_ranks(const ff_comm* comm) { return comm == nullptr ? 0 : unwrap(comm)->ranks(); }

ff_status ff_all_reduce(ff_comm* comm, const void* send, void* recv, size_t count, ff_type type,
                        ff_reduce_op op, const ff_call* call, ff_operation** operation) {
  return guarded("ff_all_reduce", [&]() -> Status {
    if (operation != nullptr) *operation = nullptr;
    FF_RETURN_IF_ERROR(check("ff_all_reduce", comm));
    return unwrap(comm)->all_reduce(send, recv, count, type, op, call,
                                    reinterpret_cast<PooledOperation**>(operation));
  });
}

ff_status ff_operation_test(ff_operation* operation) {
  if (operation == nullptr) {
    return report_to_caller(null_argument("ff_operation_test", "operation"));
  }
  if (!unwrap(operation)->done()) {
    if (Engine* engine = unwrap(operation)->engine()) engine->poke();
    if (!unwrap(operation)->done()) return FF_IN_PROGRESS;
  }
  return report_to_caller(result_of(*unwrap(operation)));
}

ff_status ff_operation_wait(ff_operation* operation, int64_t timeout_ns) {
  if (operation == nullptr) {
    return report_to_caller(null_argument("ff_operation_wait", "operation"));
  }
  while (!unwrap(operation)->done()) {
    Engine* engine = unwrap(operation)->engine();
    if (engine == nullptr) continue;  // it is being completed this moment
    engine->wait(*unwrap(operation), std::chrono::nanoseconds(timeout_ns <= 0 ? -1 : timeout_ns));
    if (timeout_ns > 0 && !unwrap(operation)->done()) return FF_IN_PROGRESS;
  }
  return report_to_caller(result_of(*unwrap(operation)));
}

ff_status ff_operation_on_done(ff_operation* operation, void (*fn)(void* context, ff_status),
                               void* context) {
  if (operation == nullptr || fn == nullptr) {
    return report_to_caller(
        null_argument("ff_operation_on_done", operation == nullptr ? "operation" : "fn"));
  }
  unwrap(operation)->on_done(fn, context);
  return FF_OK;
}

void ff_operation_release(ff_operation* operation) {
  if (operation != nullptr) unwrap(operation)->release();
}

ff_status ff_explain(const char* request, char** json) {
  return guarded("ff_explain", [&]() -> Status {
    if (json == nullptr) return null_argument("ff_explain", "json");
    *json = nullptr;
    if (request == nullptr) return null_argument("ff_explain", "request");
    FF_ASSIGN_OR_RETURN(const std::string text, explain(request));
    return give_text(text, json);
  });
}

ff_status ff_comm_query(ff_comm* comm, const char* what, char** json) {
  return guarded("ff_comm_query", [&]() -> Status {
    if (json == nullptr) return null_argument("ff_comm_query", "json");
    *json = nullptr;
    FF_RETURN_IF_ERROR(check("ff_comm_query", comm));
    if (what == nullptr) return null_argument("ff_comm_query", "what");
    FF_ASSIGN_OR_RETURN(const std::string text, unwrap(comm)->query(what));
    return give_text(text, json);
  });
}

void ff_free_text(char* text) { std::free(text); }

const char* ff_last_error(void) { return last_error(); }

const char* ff_status_name(ff_status status) {
  static constexpr const char* kNames[FF_STATUS_COUNT] = {
      "FF_OK",
      "FF_IN_PROGRESS",
      "FF_ERROR_ARGUMENT",
      "FF_ERROR_UNSUPPORTED",
      "FF_ERROR_MISMATCH",
      "FF_ERROR_RESOURCE",
      "FF_ERROR_UNREACHABLE",
      "FF_ERROR_PEER_LOST",
      "FF_ERROR_TIMEOUT",
      "FF_ERROR_ABORTED",
      "FF_ERROR_STATE",
      "FF_ERROR_SYSTEM",
      "FF_ERROR_INTERNAL",
  };
  const auto index = static_cast<unsigned>(status);
  return index < FF_STATUS_COUNT ? kNames[index] : "unknown status";
}

const char* ff_type_name(ff_type type) { return type_name(type); }
size_t ff_type_size(ff_type type) { return type_size(type); }
const char* ff_op_name(ff_reduce_op op) { return op_name(op); }
uint32_t ff_version(void) { return FF_VERSION_NUMBER; }

void ff_set_log(void (*sink)(void* context, int level, const char* line), void* context) {
  set_log_sink(sink, context);
}

}  // extern "C"
