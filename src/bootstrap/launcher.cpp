#include "bootstrap/launcher.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "topology/detect/process.hpp"

namespace ff {
namespace {

constexpr uint32_t kMostRanks = 1 << 20;

// One launcher's variables. Empty: it has no such variable.
struct Launcher {
  std::string_view name;
  std::string_view rank;
  std::string_view ranks, ranks_else = {};  // _else: where the first is unset
  std::string_view local_rank;
  // Ranks on this host, or hosts of the job: tells whether there are other hosts.
  std::string_view local_ranks = {}, hosts = {}, hosts_else = {};
  // A name that the ranks of one job share and no other job has; nothing if that cannot be had.
  std::optional<std::string> (*job)(const Environment& environment, const std::string& root);
};

std::optional<std::string> no_job(const Environment&, const std::string&) { return std::nullopt; }

// MASTER_PORT is taken on the host while the job runs, so no two jobs share one.
std::optional<std::string> torch_job(const Environment& environment, const std::string&) {
  const auto port = environment.get("MASTER_PORT");
  if (!port.has_value()) return std::nullopt;
  const auto value = [&](std::string_view name) { return environment.get(name).value_or(""); };
  return fmt::format("{}:{}/{}/{}", value("MASTER_ADDR"), *port, value("TORCHELASTIC_RUN_ID"),
                     value("TORCHELASTIC_RESTART_COUNT"));
}

std::optional<std::string> openmpi_job(const Environment& environment, const std::string&) {
  const auto name = environment.get("PMIX_NAMESPACE");
  return name.has_value() ? name : environment.get("OMPI_MCA_ess_base_jobid");
}

std::optional<std::string> slurm_job(const Environment& environment, const std::string&) {
  const auto job = environment.get("SLURM_JOB_ID"), step = environment.get("SLURM_STEP_ID");
  if (!job.has_value() || !step.has_value()) return std::nullopt;
  return fmt::format("slurm {}.{}", *job, *step);
}

// Hydra gives its ranks no name of the job, but all ranks of a host descend from one proxy process.
// Slurm's own PMI sets PMI_RANK too, without such a process; then the step is the job.
std::optional<std::string> hydra_job(const Environment& environment, const std::string& root) {
  constexpr int kMostGenerations = 64;
  Result<ProcessFacts> process = read_process(root, own_pid(root));
  for (int i = 0; process.ok() && process->parent > 0 && i < kMostGenerations; i++) {
    process = read_process(root, process->parent);
    if (process.ok() && process->command == "hydra_pmi_proxy") {
      return fmt::format("hydra {}.{}", process->pid, process->start_time);
    }
  }
  return slurm_job(environment, root);
}

constexpr std::array kLaunchers = {
    Launcher{.name = "ff run",
             .rank = "FF_RANK",
             .ranks = "FF_RANKS",
             .local_rank = "FF_LOCAL_RANK",
             .local_ranks = "FF_LOCAL_RANKS",
             .job = no_job},
    Launcher{.name = "torchrun",
             .rank = "RANK",
             .ranks = "WORLD_SIZE",
             .local_rank = "LOCAL_RANK",
             .local_ranks = "LOCAL_WORLD_SIZE",
             .job = torch_job},
    Launcher{.name = "Open MPI",
             .rank = "OMPI_COMM_WORLD_RANK",
             .ranks = "OMPI_COMM_WORLD_SIZE",
             .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
             .local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
             .job = openmpi_job},
    Launcher{.name = "MPICH or Intel MPI",
             .rank = "PMI_RANK",
             .ranks = "PMI_SIZE",
             .local_rank = "MPI_LOCALRANKID",
             .local_ranks = "MPI_LOCALNRANKS",
             .job = hydra_job},
    Launcher{.name = "Slurm",
             .rank = "SLURM_PROCID",
             .ranks = "SLURM_STEP_NUM_TASKS",
             .ranks_else = "SLURM_NTASKS",
             .local_rank = "SLURM_LOCALID",
             .hosts = "SLURM_STEP_NUM_NODES",
             .hosts_else = "SLURM_NNODES",
             .job = slurm_job},
};

Status wrong(const Launcher& launcher, const std::string& what) {
  return {FF_ERROR_ARGUMENT, fmt::format("{}'s variables: {}", launcher.name, what)};
}

// The number in a variable; nothing when it is unset.
Result<std::optional<uint32_t>> number(const Environment& environment, const Launcher& launcher,
                                       std::string_view name) {
  if (name.empty()) return std::optional<uint32_t>();
  const auto text = environment.get(name);
  if (!text.has_value()) return std::optional<uint32_t>();
  uint32_t value = 0;
  const char* last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc() || end != last || value > kMostRanks) {
    return wrong(launcher,
                 fmt::format("{}='{}' is no number from 0 to {}", name, *text, kMostRanks));
  }
  return std::optional<uint32_t>(value);
}

Result<LaunchedRank> seat_of(const Launcher& launcher, const Environment& environment,
                             const std::string& root) {
  const auto set = [&](std::string_view name, std::string_view otherwise) {
    return otherwise.empty() || environment.get(name).has_value() ? name : otherwise;
  };
  const std::string_view ranks_name = set(launcher.ranks, launcher.ranks_else);
  const std::string_view hosts_name = set(launcher.hosts, launcher.hosts_else);
  FF_ASSIGN_OR_RETURN(const auto rank, number(environment, launcher, launcher.rank));
  FF_ASSIGN_OR_RETURN(const auto ranks, number(environment, launcher, ranks_name));
  FF_ASSIGN_OR_RETURN(const auto local, number(environment, launcher, launcher.local_rank));
  FF_ASSIGN_OR_RETURN(const auto locals, number(environment, launcher, launcher.local_ranks));
  FF_ASSIGN_OR_RETURN(const auto hosts, number(environment, launcher, hosts_name));
  if (!rank.has_value() || !ranks.has_value()) {
    return wrong(launcher, fmt::format("{} is set but {} is not",
                                       rank.has_value() ? launcher.rank : ranks_name,
                                       rank.has_value() ? ranks_name : launcher.rank));
  }
  if (*rank >= *ranks) {
    return wrong(launcher, fmt::format("{}={} must be less than {}={}", launcher.rank, *rank,
                                       ranks_name, *ranks));
  }
  if (locals.has_value() && (*locals > *ranks || (local.has_value() && *local >= *locals))) {
    return wrong(launcher,
                 fmt::format("{}={}, {}={} and {}={} contradict each other", launcher.local_rank,
                             local.has_value() ? fmt::to_string(*local) : "", launcher.local_ranks,
                             *locals, ranks_name, *ranks));
  }
  if ((locals.has_value() && *locals < *ranks) || hosts.value_or(1) > 1) {
    const bool by_ranks = locals.has_value();
    return Status(
        FF_ERROR_UNSUPPORTED,
        fmt::format("{} started this job on several hosts ({}={}{}); this version joins processes "
                    "of one host only: start all ranks on one",
                    launcher.name, by_ranks ? launcher.local_ranks : hosts_name,
                    by_ranks ? *locals : *hosts,
                    by_ranks ? fmt::format(" of {}={}", ranks_name, *ranks) : ""));
  }
  LaunchedRank seat;
  seat.rank = Rank(*rank);
  seat.ranks = *ranks;
  seat.local_rank = local;
  seat.launcher = launcher.name;
  if (const auto given = environment.get("FF_RENDEZVOUS")) {
    seat.rendezvous = *given;
  } else if (const auto job = launcher.job(environment, root)) {
    seat.rendezvous = fmt::format("name:{} {}", launcher.name, *job);
  } else if (*ranks == 1) {
    seat.rendezvous = "name:alone";  // a group of one opens nothing
  } else {
    return wrong(launcher,
                 "nothing in them tells this job from another; set FF_RENDEZVOUS=name:TEXT, with a "
                 "text that all ranks of the job share and no other job has");
  }
  return seat;
}

}  // namespace

Result<LaunchedRank> find_self(const Environment& environment, const std::string& root) {
  const auto started = [&](const Launcher& launcher, std::string_view by) {
    // In a batch script Slurm sets SLURM_PROCID=0, which is no rank: only srun makes steps.
    const bool no_step = launcher.name == "Slurm" && !environment.get("SLURM_STEP_ID").has_value();
    return !no_step && environment.get(by).has_value();
  };
  for (const Launcher& launcher : kLaunchers) {
    if (started(launcher, launcher.rank)) return seat_of(launcher, environment, root);
  }
  for (const Launcher& launcher : kLaunchers) {  // a size alone is an error, which says so
    if (started(launcher, launcher.ranks)) return seat_of(launcher, environment, root);
  }
  std::string names;
  for (const Launcher& launcher : kLaunchers) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", launcher.rank, launcher.name);
  }
  return Status(
      FF_ERROR_ARGUMENT,
      fmt::format("no launcher's variables tell which rank this process is: none of {} is "
                  "set. Start it with ff run -n N -- program, or give rank, ranks and a "
                  "rendezvous in the configuration",
                  names));
}

}  // namespace ff
