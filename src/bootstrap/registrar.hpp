// Rank 0's side: listens, lets the ranks in, keeps strangers out, gives everybody the list.
//
// One thread, one poll over the listener and all connections. Nobody can make it wait: every
// connection is non-blocking and, until it has proved the secret, has 2 s and one of 64 places (the
// oldest stranger makes room). The first failure ends the gathering for all ranks with one text;
// rank 0 then stays a little to tell those who come late.
#pragma once
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/side.hpp"
#include "bootstrap/visitor.hpp"

namespace ff::bootstrap {

class Registrar final : public Side {
 public:
  explicit Registrar(Party& party);
  ~Registrar() override;

  Result<std::vector<Member>> gather() override;
  Status conclude(const Status& mine, Time deadline) override;

 private:
  struct Seat {
    std::optional<Visitor::Brought> brought;
    std::optional<Status> verdict;
  };

  Status open(Time deadline);
  Status fill_seats(Time deadline);
  void close_door();
  Status turn(Time until);
  Status accept_all();
  Status serve(Visitor& visitor);
  void handle(Visitor& visitor, Visitor::Event event);
  void admit(Visitor& visitor);
  void turn_away(Visitor& visitor, const std::string& reason);
  void gone(Visitor& visitor);
  void fail(Status why);
  void tell(Visitor& visitor);
  void hand_out_rosters();
  void drain(Time until, bool wait_for_latecomers);
  bool anything_to_send() const;
  size_t seated() const;
  Status still_missing() const;
  std::string strangers() const;

  Party& party_;
  Door door_;
  GuardedDescriptor listener_;
  std::list<Visitor> visitors_;
  std::vector<Seat> seats_;  // by rank; rank 0's is filled from the start
  bool crowded_ = false;     // no descriptor left to accept with; until a visitor goes
  std::optional<Status> failure_;
  std::set<uint32_t> told_;  // ranks that have been sent the failure
  size_t stranger_count_ = 0;
  std::string last_stranger_;
};

}  // namespace ff::bootstrap
