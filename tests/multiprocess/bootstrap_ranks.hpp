// Ranks as processes that join a group and say how it went.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "bootstrap/rendezvous.hpp"
#include "children.hpp"

namespace ff::testing_tools {

struct Report {
  int code = -1;       // ff_status; -1: the child said nothing
  double seconds = 0;  // until join() or conclude() came back
  std::string text;
};

// A rendezvous name that no other test uses.
std::string fresh_rendezvous();

JoinOptions options_of(uint32_t rank, uint32_t ranks, const std::string& rendezvous,
                       std::chrono::nanoseconds timeout = std::chrono::seconds(20));

// Joins and concludes with an arena and a blob that tell the rank, checks what the others brought,
// then calls `then` with the members, whose text (empty: all is well) is reported as a failure.
// `between` runs between the two agreements.
std::string join_and_report(const JoinOptions& options,
                            const std::function<std::string(std::vector<Member>&)>& then = {},
                            const std::function<void()>& between = {});

Report report_of(Child& child);  // waits for its end

testing::AssertionResult says(const Report& report, ff_status code,
                              std::initializer_list<std::string> parts);

// Abstract sockets of Fireflyer that exist on this host now.
int open_rendezvous();

}  // namespace ff::testing_tools
