// Any MPI, under its own launcher.
#include <mpi.h>

#include "loop.hpp"

struct Mpi {
  int rank = 0, ranks = 0;
  void sum(float* data, size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Mpi mpi;
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi.ranks);
  const bench::Arguments arguments = bench::parse(argc, argv);
  bench::Loop(mpi, arguments).run();
  MPI_Finalize();
}
