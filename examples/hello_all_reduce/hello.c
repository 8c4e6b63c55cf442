/* Each rank gives four numbers, each rank gets their sums:  ff run -n 4 -- hello_c */
#include <stdio.h>

#include "fireflyer/fireflyer.h"

static int fail(void) {
  fprintf(stderr, "hello: %s\n", ff_last_error());
  return 1;
}

int main(void) {
  ff_config config = ff_config_init(); /* rank and ranks from the environment */
  config.abi = FF_ABI;
  ff_comm* comm = NULL;
  if (ff_comm_create(&config, &comm) != FF_OK) return fail();

  float data[4];
  for (int i = 0; i < 4; ++i) data[i] = (float)(10 * i + ff_comm_rank(comm));
  if (ff_all_reduce(comm, NULL, data, 4, FF_FLOAT32, FF_SUM, NULL, NULL) != FF_OK) return fail();

  printf("rank %d of %d: %g %g %g %g\n", ff_comm_rank(comm), ff_comm_ranks(comm), data[0], data[1],
         data[2], data[3]);
  return ff_comm_destroy(comm) == FF_OK ? 0 : fail();
}
