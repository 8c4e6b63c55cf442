// Fireflyer's C API, under `ff run`.
#include "fireflyer/fireflyer.h"

#include "loop.hpp"

struct Fireflyer {
  int rank = 0, ranks = 0;
  ff_comm* comm = nullptr;

  static void must(ff_status status) {
    if (status == FF_OK) return;
    std::fprintf(stderr, "%s: %s\n", ff_status_name(status), ff_last_error());
    std::exit(1);
  }
  void sum(float* data, size_t count) {
    must(ff_all_reduce(comm, nullptr, data, count, FF_FLOAT32, FF_SUM, nullptr, nullptr));
  }
};

int main(int argc, char** argv) {
  const bench::Arguments arguments = bench::parse(argc, argv);
  ff_config config = ff_config_init();
  config.abi = FF_ABI;
  Fireflyer fireflyer;
  Fireflyer::must(ff_comm_create(&config, &fireflyer.comm));
  fireflyer.rank = ff_comm_rank(fireflyer.comm);
  fireflyer.ranks = ff_comm_ranks(fireflyer.comm);
  bench::Loop(fireflyer, arguments).run();
  Fireflyer::must(ff_comm_destroy(fireflyer.comm));
}
