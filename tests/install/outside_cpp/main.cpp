// Somebody else's program in C++: sums the ranks' numbers and says whether that came out right.
#include <fireflyer/fireflyer.hpp>
#include <iostream>
#include <vector>

int main() {
  auto comm = ff::Communicator::create();
  if (!comm.ok()) {
    std::cerr << comm.error().message << "\n";
    return 1;
  }
  std::vector<float> value(1000);
  for (std::size_t i = 0; i < value.size(); ++i) {
    value[i] = static_cast<float>(comm->rank()) + 10.0f * static_cast<float>(i);
  }
  if (auto sum = comm->all_reduce(value, ff::Op::kSum); !sum.ok()) {
    std::cerr << sum.error().message << "\n";
    return 1;
  }
  const auto ranks = static_cast<float>(comm->ranks());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != ranks * (ranks - 1) / 2 + 10.0f * static_cast<float>(i) * ranks) {
      std::cerr << "element " << i << " is " << value[i] << "\n";
      return 1;
    }
  }
  std::cout << "C++ rank " << comm->rank() << " of " << comm->ranks() << ": right\n";
}
