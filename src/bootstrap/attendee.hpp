// A rank other than 0: finds rank 0, hands in its record, gets everybody's.
#pragma once
#include <vector>

#include "bootstrap/side.hpp"

namespace ff::bootstrap {

class Attendee final : public Side {
 public:
  explicit Attendee(Party& party) : party_(party) {}
  ~Attendee() override;

  Result<std::vector<Member>> gather() override;
  Status conclude(const Status& mine, Time deadline) override;

 private:
  void leave(const Status& why);
  Status find_rank_0(Time deadline);
  Result<std::vector<Member>> receive_roster(Time deadline);
  // The next message after the welcome; an error if it is a failure, or none came.
  Result<Packet> next(Time deadline, const char* what);

  Party& party_;
  Channel channel_;
  int64_t rank_0_pid_ = 0;
  std::string rank_0_host_;
};

}  // namespace ff::bootstrap
