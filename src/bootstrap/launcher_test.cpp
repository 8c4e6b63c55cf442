#include "bootstrap/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file_descriptor.hpp"

namespace ff {
namespace {

using Values = Environment::Values;

// A /proc in which process 100 descends from the given (pid, command, start time), youngest first.
class Ancestors {
 public:
  struct Process {
    int pid;
    std::string command;
    uint64_t start;
  };
  explicit Ancestors(const std::vector<Process>& line) {
    std::filesystem::create_directories(root_ + "/proc");
    std::filesystem::create_symlink("100", root_ + "/proc/self");
    std::vector<Process> all = {{100, "program", 9999}};
    all.insert(all.end(), line.begin(), line.end());
    for (size_t i = 0; i < all.size(); i++) {
      const int parent = i + 1 < all.size() ? all[i + 1].pid : 1;
      const std::string folder = fmt::format("{}/proc/{}", root_, all[i].pid);
      std::filesystem::create_directories(folder);
      std::ofstream(folder + "/stat")
          << fmt::format("{} ({}) S {} 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 {} 23\n",
                         all[i].pid, all[i].command, parent, all[i].start);
    }
  }
  ~Ancestors() { std::filesystem::remove_all(root_); }
  const std::string& root() const { return root_; }

 private:
  std::string root_ = fmt::format("{}ff_launcher_{}", testing::TempDir(), getpid());
};

Result<LaunchedRank> seat(Values values, const std::string& root = "/nonexistent") {
  return find_self(Environment(std::move(values)), root);
}

void expect_seat(const Result<LaunchedRank>& found, uint32_t rank, uint32_t ranks, uint32_t local,
                 const std::string& rendezvous) {
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->rank, Rank(rank));
  EXPECT_EQ(found->ranks, ranks);
  EXPECT_EQ(found->local_rank, local);
  EXPECT_EQ(found->rendezvous, rendezvous);
}

Values torch(int rank) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", std::to_string(rank)},
          {"LOCAL_WORLD_SIZE", "4"},
          {"MASTER_ADDR", "node7"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_RESTART_COUNT", "2"}};
}

TEST(Launcher, FfRun) {
  expect_seat(seat({{"FF_RANK", "1"},
                    {"FF_RANKS", "2"},
                    {"FF_LOCAL_RANK", "1"},
                    {"FF_LOCAL_RANKS", "2"},
                    {"FF_RENDEZVOUS", "name:0123"}}),
              1, 2, 1, "name:0123");
}

TEST(Launcher, Torchrun) {
  expect_seat(seat(torch(3)), 3, 4, 3, "name:torchrun node7:29500/none/2");
}

TEST(Launcher, ATorchRestartMeetsElsewhere) {
  Values restarted = torch(3);
  restarted["TORCHELASTIC_RESTART_COUNT"] = "3";
  EXPECT_NE(seat(torch(3))->rendezvous, seat(restarted)->rendezvous);
}

TEST(Launcher, OpenMpi) {
  expect_seat(seat({{"OMPI_COMM_WORLD_RANK", "2"},
                    {"OMPI_COMM_WORLD_SIZE", "3"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                    {"PMIX_NAMESPACE", "prterun-node7-812@1"}}),
              2, 3, 2, "name:Open MPI prterun-node7-812@1");
}

TEST(Launcher, Slurm) {
  expect_seat(seat({{"SLURM_PROCID", "5"},
                    {"SLURM_STEP_NUM_TASKS", "8"},
                    {"SLURM_NTASKS", "16"},  // of the job, which has other steps
                    {"SLURM_LOCALID", "5"},
                    {"SLURM_JOB_ID", "77"},
                    {"SLURM_STEP_ID", "1"},
                    {"SLURM_STEP_NUM_NODES", "1"},
                    {"SLURM_NNODES", "2"}}),
              5, 8, 5, "name:Slurm slurm 77.1");
}

TEST(Launcher, OlderSlurm) {
  expect_seat(seat({{"SLURM_PROCID", "5"},
                    {"SLURM_NTASKS", "8"},
                    {"SLURM_LOCALID", "5"},
                    {"SLURM_JOB_ID", "77"},
                    {"SLURM_STEP_ID", "1"},
                    {"SLURM_NNODES", "1"}}),
              5, 8, 5, "name:Slurm slurm 77.1");
}

TEST(Launcher, ASlurmBatchScriptIsNoRank) {
  const Result<LaunchedRank> found =
      seat({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "77"}});
  EXPECT_EQ(found.status().code(), FF_ERROR_ARGUMENT);
  EXPECT_NE(found.status().message().find("no launcher's variables"), std::string::npos);
}

const Values kHydra = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};

TEST(Launcher, HydraIsKnownByItsProxy) {
  const Ancestors ancestors({{90, "sh", 500},
                             {80, "odd (name) 1 2", 450},
                             {70, "hydra_pmi_proxy", 400},
                             {60, "mpiexec.hydra", 399}});
  expect_seat(seat(kHydra, ancestors.root()), 1, 2, 1, "name:MPICH or Intel MPI hydra 70.400");
}

TEST(Launcher, SlurmsOwnPmiIsKnownByItsStep) {
  const Ancestors ancestors({{90, "slurmstepd", 500}});
  Values values = kHydra;
  values.insert({{"SLURM_PROCID", "1"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "4"}});
  expect_seat(seat(values, ancestors.root()), 1, 2, 1, "name:MPICH or Intel MPI slurm 77.4");
}

TEST(Launcher, WithoutANameOfTheJobItRefuses) {
  const Ancestors ancestors({{90, "sh", 500}});
  const Result<LaunchedRank> found = seat(kHydra, ancestors.root());
  EXPECT_EQ(found.status().code(), FF_ERROR_ARGUMENT);
  EXPECT_NE(found.status().message().find("set FF_RENDEZVOUS=name:TEXT"), std::string::npos);
  Values named = kHydra;
  named["FF_RENDEZVOUS"] = "name:mine";
  expect_seat(seat(named, ancestors.root()), 1, 2, 1, "name:mine");
}

TEST(Launcher, TheInnermostCounts) {
  Values both = torch(3);
  both.insert({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_EQ(seat(both)->launcher, "torchrun");
  both.erase("RANK");  // WORLD_SIZE alone may be anybody's
  EXPECT_EQ(seat(both)->launcher, "Open MPI");
}

TEST(Launcher, SeveralHostsAreRefused) {
  Values torch2 = torch(3);
  torch2["WORLD_SIZE"] = "8";
  const Status status = seat(torch2).status();
  EXPECT_EQ(status.code(), FF_ERROR_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "torchrun started this job on several hosts (LOCAL_WORLD_SIZE=4 of WORLD_SIZE=8); this "
            "version joins processes of one host only: start all ranks on one");
  EXPECT_EQ(seat({{"SLURM_PROCID", "5"},
                  {"SLURM_STEP_NUM_TASKS", "8"},
                  {"SLURM_JOB_ID", "77"},
                  {"SLURM_STEP_ID", "1"},
                  {"SLURM_STEP_NUM_NODES", "2"}})
                .status()
                .message(),
            "Slurm started this job on several hosts (SLURM_STEP_NUM_NODES=2); this version joins "
            "processes of one host only: start all ranks on one");
}

struct Contradiction {
  Values values;
  std::string message;
};
class Contradictions : public testing::TestWithParam<Contradiction> {};

TEST_P(Contradictions, AreNamedWithTheirValues) {
  const Status status = seat(GetParam().values).status();
  EXPECT_EQ(status.code(), FF_ERROR_ARGUMENT);
  EXPECT_EQ(status.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Launcher, Contradictions,
    testing::Values(
        Contradiction{{{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "1"}},
                      "torchrun's variables: RANK=4 must be less than WORLD_SIZE=4"},
        Contradiction{{{"RANK", "one"}, {"WORLD_SIZE", "4"}},
                      "torchrun's variables: RANK='one' is no number from 0 to 1048576"},
        Contradiction{{{"RANK", "-1"}, {"WORLD_SIZE", "4"}},
                      "torchrun's variables: RANK='-1' is no number from 0 to 1048576"},
        Contradiction{{{"RANK", "1"}}, "torchrun's variables: RANK is set but WORLD_SIZE is not"},
        Contradiction{{{"FF_RANKS", "2"}},
                      "ff run's variables: FF_RANKS is set but FF_RANK is not"},
        Contradiction{
            {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "5"}, {"LOCAL_WORLD_SIZE", "2"}},
            "torchrun's variables: LOCAL_RANK=5, LOCAL_WORLD_SIZE=2 and WORLD_SIZE=2 "
            "contradict each other"},
        Contradiction{{{"FF_RANK", "0"}, {"FF_RANKS", "2"}},
                      "ff run's variables: nothing in them tells this job from another; set "
                      "FF_RENDEZVOUS=name:TEXT, with a text that all ranks of the job share and no "
                      "other job has"}));

TEST(Secret, FromTextFileAndDescriptor) {
  EXPECT_EQ(*read_secret(""), "");
  EXPECT_EQ(*read_secret("text:open sesame"), "open sesame");
  const std::string path = fmt::format("{}ff_secret_{}", testing::TempDir(), getpid());
  std::ofstream(path) << std::string("with\0zero", 9);
  EXPECT_EQ(*read_secret("file:" + path), std::string("with\0zero", 9));
  unlink(path.c_str());

  FileDescriptor memory(memfd_create("secret", MFD_CLOEXEC));
  ASSERT_EQ(write(memory.get(), "abc", 3), 3);
  for (int time = 0; time < 2; time++) {
    EXPECT_EQ(*read_secret(fmt::format("fd:{}", memory.get())), "abc");
  }
}

TEST(Secret, ErrorsNeverShowIt) {
  for (const char* words : {"open sesame", "fd:open sesame", "text:", "file:sesame", "fd:-1"}) {
    const Result<std::string> secret = read_secret(words);
    EXPECT_EQ(secret.status().code(), FF_ERROR_ARGUMENT) << words;
    EXPECT_EQ(secret.status().message().find("sesame"), std::string::npos);
  }
  EXPECT_EQ(read_secret("fd:1000000").status().code(), FF_ERROR_SYSTEM);
  EXPECT_EQ(read_secret("file:/nonexistent").status().code(), FF_ERROR_SYSTEM);
}

}  // namespace
}  // namespace ff
