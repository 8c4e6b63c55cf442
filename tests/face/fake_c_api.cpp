#include "fake_c_api.hpp"

#include <cstdlib>
#include <cstring>

// The handles are never looked into: any distinct addresses will do.
struct ff_comm {
  int number;
  void (*on_failure)(void*, const ff_failure*);
  void* on_failure_context;
};
struct ff_operation {
  int number;
};

namespace fake {

State& state() {
  static State the_state;
  return the_state;
}

namespace {
int handles_made = 0;

char* new_text(const char* text) {
  ++state().texts_alive;
  return strdup(text);
}
}  // namespace

void reset() {
  state() = State();
  handles_made = 0;
}

}  // namespace fake

using fake::state;

ff_status ff_comm_create(const ff_config* config, ff_comm** out) {
  state().config = *config;
  state().name_was_null = config->name == nullptr;
  state().config_name = config->name != nullptr ? config->name : "";
  if (state().next == FF_OK) {
    *out = new ff_comm{++fake::handles_made, config->on_failure, config->on_failure_context};
  }
  return state().next;
}

ff_status ff_comm_destroy(ff_comm* comm) {
  // As the real one may: a failure is told while the communicator is being destroyed.
  if (comm->on_failure != nullptr) {
    ff_failure failure = ff_failure_init();
    failure.rank = comm->number;
    comm->on_failure(comm->on_failure_context, &failure);
  }
  state().events.push_back("destroy " + std::to_string(comm->number));
  delete comm;
  return FF_OK;
}

ff_status ff_comm_flush(ff_comm*, int64_t timeout_ns) {
  state().wait_timeout_ns = timeout_ns;
  return state().next;
}

ff_status ff_comm_abort(ff_comm*, const char* reason) {
  state().request = reason;
  return state().next;
}

ff_status ff_comm_async_error(ff_comm*, ff_status* out, ff_failure* detail) {
  *out = state().ended;
  detail->status = state().ended;
  detail->rank = 3;
  return state().next;
}

int32_t ff_comm_rank(const ff_comm*) { return 2; }
int32_t ff_comm_ranks(const ff_comm*) { return 5; }

ff_status ff_all_reduce(ff_comm*, const void* send, void* recv, size_t count, ff_type type,
                        ff_reduce_op op, const ff_call* call, ff_operation** operation) {
  state().reduces.push_back({send, recv, count, type, op, call->timeout_ns,
                             call->name != nullptr ? call->name : "", operation == nullptr});
  if (operation != nullptr && state().next == FF_OK) {
    *operation = new ff_operation{++fake::handles_made};
  }
  return state().next;
}

ff_status ff_operation_test(ff_operation*) { return state().next; }

ff_status ff_operation_wait(ff_operation*, int64_t timeout_ns) {
  state().wait_timeout_ns = timeout_ns;
  return state().next;
}

ff_status ff_operation_on_done(ff_operation*, void (*fn)(void*, ff_status), void* context) {
  if (state().next == FF_OK) {
    state().done = fn;
    state().done_context = context;
  }
  return state().next;
}

void ff_operation_release(ff_operation* operation) {
  state().events.push_back("release " + std::to_string(operation->number));
  delete operation;
}

ff_status ff_explain(const char* request, char** json) {
  state().request = request;
  if (state().next == FF_OK) {
    *json = fake::new_text("{\"algorithm\": \"direct\"}");
  }
  return state().next;
}

ff_status ff_comm_query(ff_comm*, const char* what, char** json) { return ff_explain(what, json); }

void ff_free_text(char* text) {
  --state().texts_alive;
  free(text);
}

ff_status ff_id_create(ff_id* id) {
  std::memset(id, 7, sizeof *id);
  return state().next;
}

const char* ff_last_error(void) { return state().error.c_str(); }
