// A stand-in for libfireflyer's C functions: answers as scripted, records what it was told.
#pragma once
#include <string>
#include <vector>

#include "fireflyer/fireflyer.h"

namespace fake {

struct ReduceCall {
  const void* send;
  void* recv;
  size_t count;
  ff_type type;
  ff_reduce_op op;
  int64_t timeout_ns;
  std::string name;
  bool blocking;
};

struct State {
  // What the next calls return, and the text of ff_last_error().
  ff_status next = FF_OK;
  std::string error;

  // What was seen.
  ff_config config{};
  std::string config_name;
  bool name_was_null = false;
  std::vector<ReduceCall> reduces;
  std::vector<std::string> events;  // "destroy 1", "release 7", in order
  std::string request;
  int64_t wait_timeout_ns = 0;

  // A call that on_done has left pending.
  void (*done)(void*, ff_status) = nullptr;
  void* done_context = nullptr;

  // What ff_comm_async_error tells.
  ff_status ended = FF_OK;
  int texts_alive = 0;
};

State& state();  // of this test; reset() before each
void reset();

}  // namespace fake
