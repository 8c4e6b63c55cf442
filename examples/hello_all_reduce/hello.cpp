// Each rank gives four numbers, each rank gets their sums:  ff run -n 4 -- hello_cpp
#include <array>
#include <cstdio>

#include "fireflyer/fireflyer.hpp"

int fail(const ff::Error& error) {
  std::fprintf(stderr, "hello: %s\n", error.message.c_str());
  return 1;
}

int main() {
  auto comm = ff::Communicator::create();  // rank and ranks from the environment
  if (!comm) return fail(comm.error());

  std::array<float, 4> data{};
  for (int i = 0; i < 4; ++i) data[i] = static_cast<float>(10 * i + comm->rank());
  auto sum = comm->all_reduce_async(data, ff::Op::kSum);
  if (!sum) return fail(sum.error());
  // ... work that needs no sum yet ...
  if (auto done = sum->wait(); !done) return fail(done.error());

  std::printf("rank %d of %d: %g %g %g %g\n", comm->rank(), comm->ranks(), data[0], data[1],
              data[2], data[3]);
}
