/* Somebody else's program in C: sums the ranks' numbers and says whether that came out right. */
#include <fireflyer/fireflyer.h>
#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, ff_last_error());
  return 1;
}

int main(void) {
  ff_config config = ff_config_init();
  ff_comm* comm = NULL;
  double value[3];
  double ranks_sum;
  int i;

  config.abi = FF_ABI;
  if (ff_comm_create(&config, &comm) != FF_OK) return fail("create");
  for (i = 0; i < 3; ++i) value[i] = ff_comm_rank(comm) + 10.0 * i;
  if (ff_all_reduce(comm, NULL, value, 3, FF_FLOAT64, FF_SUM, NULL, NULL) != FF_OK) {
    return fail("all_reduce");
  }
  ranks_sum = ff_comm_ranks(comm) * (ff_comm_ranks(comm) - 1) / 2.0;
  for (i = 0; i < 3; ++i) {
    if (value[i] != ranks_sum + 10.0 * i * ff_comm_ranks(comm)) {
      fprintf(stderr, "element %d is %g\n", i, value[i]);
      return 1;
    }
  }
  printf("C rank %d of %d: right\n", (int)ff_comm_rank(comm), (int)ff_comm_ranks(comm));
  return ff_comm_destroy(comm) == FF_OK ? 0 : fail("destroy");
}
