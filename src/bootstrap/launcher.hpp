// Which rank this process is, from the variables of whatever started it.
//
//   ff run          FF_RANK, FF_RANKS, FF_LOCAL_RANK, FF_LOCAL_RANKS, FF_RENDEZVOUS
//   torchrun        RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ...
//   Open MPI        OMPI_COMM_WORLD_RANK, ..._SIZE, ..._LOCAL_RANK, PMIX_NAMESPACE
//   MPICH, Intel    PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (Hydra; also Slurm's PMI)
//   Slurm           SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_JOB_ID, SLURM_STEP_ID
//
// The first that set its rank variable counts: launchers nest, and the innermost comes first in
// this order (mpirun within an srun, torchrun within either). FF_RENDEZVOUS, if set, replaces the
// rendezvous that would be derived from the launcher's job.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/ids.hpp"
#include "base/status.hpp"

namespace ff {

struct LaunchedRank {
  Rank rank;
  uint32_t ranks = 1;
  std::optional<uint32_t> local_rank;
  std::string rendezvous;  // "name:..." or "file:/...": equal on all ranks, and no other job's
  std::string launcher;    // "torchrun", for messages
};

// FF_ERROR_ARGUMENT   nothing tells the rank, or the variables contradict each other (all named)
// FF_ERROR_UNSUPPORTED the job spans several hosts
// `root` is the file system root that /proc is read under ("/").
Result<LaunchedRank> find_self(const Environment& environment, const std::string& root);

// What FF_SECRET or ff_config.secret names: "fd:N" (read from offset 0, left open), "file:/path" or
// "text:TEXT". "" gives "", no secret.
Result<std::string> read_secret(const std::string& words);

}  // namespace ff
