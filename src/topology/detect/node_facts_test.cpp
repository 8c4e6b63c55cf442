#include "topology/detect/node_facts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "topology/detect/cgroup.hpp"
#include "topology/detect/cpu_list.hpp"
#include "topology/detect/process.hpp"

namespace ff {
namespace {

// A file system root with just the files that a test writes.
class Fixture : public testing::Test {
 protected:
  Fixture() { std::filesystem::create_directories(root_); }
  ~Fixture() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  void cache(int cpu, int index, int level, const char* type, const char* size,
             const char* sharers) {
    const std::string folder =
        fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    write(folder + "level", fmt::to_string(level));
    write(folder + "type", type);
    write(folder + "size", size);
    write(folder + "shared_cpu_list", sharers);
  }
  const std::string root_ = fmt::format("{}ff_node_facts_{}", testing::TempDir(), getpid());
};
using NodeFactsTest = Fixture;
using CgroupTest = Fixture;

TEST_F(NodeFactsTest, CachesOfUsableCpusOnly) {
  // Two L3 of four CPUs each, an L2 for each pair; CPU 7 is not ours.
  for (int cpu = 0; cpu < 8; cpu++) {
    const std::string pair = fmt::format("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1);
    cache(cpu, 0, 1, "Data", "32K", pair.c_str());
    cache(cpu, 1, 2, "Instruction", "64K", pair.c_str());
    cache(cpu, 2, 2, "Unified", "1024K", pair.c_str());
    cache(cpu, 3, 3, "Unified", "32M", cpu < 4 ? "0-3" : "4-7");
  }
  const NodeFacts facts = read_node_facts(root_, {0, 1, 2, 4});
  const uint64_t mib = 1 << 20;
  EXPECT_EQ(facts.l2, (std::vector<Cache>{{mib, {0, 1}}, {mib, {2, 3}}, {mib, {4, 5}}}));
  EXPECT_EQ(facts.l3, (std::vector<Cache>{{32 * mib, {0, 1, 2, 3}}, {32 * mib, {4, 5, 6, 7}}}));
  EXPECT_EQ(facts.cpu_time, 4);
}

TEST_F(NodeFactsTest, WhatIsNotThereIsAbsent) {
  const NodeFacts facts = read_node_facts(root_, {0});
  EXPECT_TRUE(facts.l2.empty());
  EXPECT_TRUE(facts.l3.empty());
  EXPECT_EQ(facts.boot, "unknown");
  EXPECT_EQ(facts.memory_bytes, std::nullopt);
  EXPECT_EQ(facts.memory_available, std::nullopt);
}

TEST_F(NodeFactsTest, MemoryIsTheMachinesOrTheGroups) {
  write("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB");
  NodeFacts facts = read_node_facts(root_, {0});
  EXPECT_EQ(facts.memory_bytes, 16384u << 10);
  EXPECT_EQ(facts.memory_available, 8192u << 10);
  write("/proc/self/cgroup", "0::/job");
  write("/sys/fs/cgroup/job/memory.max", "4194304");
  write("/sys/fs/cgroup/job/memory.current", "3145728");
  write("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 1048576\nslab 2");
  facts = read_node_facts(root_, {0});
  EXPECT_EQ(facts.memory_bytes, 4194304u);
  EXPECT_EQ(facts.memory_available, 2097152u) << "page cache can be reclaimed";
}

TEST_F(NodeFactsTest, LimitsOfThisProcess) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(read_node_facts(root_, {0}).file_bytes_limit, 1u << 20);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(NodeFacts, OfThisMachine) {
  const auto cpus = affinity_of_this_thread();
  ASSERT_TRUE(cpus.ok());
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(cpus->size(), static_cast<size_t>(CPU_COUNT(&mask)));
  const NodeFacts facts = read_node_facts("/", *cpus);
  EXPECT_EQ(facts.boot.size(), 36u);
  EXPECT_GT(facts.memory_bytes.value_or(0), 1u << 20);
  EXPECT_LE(facts.memory_available.value_or(0), *facts.memory_bytes);
  EXPECT_EQ(facts.page_bytes & (facts.page_bytes - 1), 0u);
}

TEST_F(CgroupTest, V2TakesTheTightestUpToTheRoot) {
  write("/proc/self/cgroup", "0::/slurm/job/step");
  write("/sys/fs/cgroup/slurm/job/step/cpu.max", "max 100000");
  write("/sys/fs/cgroup/slurm/job/cpu.max", "150000 100000");
  write("/sys/fs/cgroup/slurm/cpu.max", "800000 100000");
  write("/sys/fs/cgroup/slurm/job/step/memory.max", "max");
  write("/sys/fs/cgroup/slurm/memory.max", "1073741824");
  const CgroupLimits limits = read_cgroup_limits(root_);
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1073741824u);
  EXPECT_EQ(limits.memory_left, std::nullopt) << "use is not known";
}

TEST_F(CgroupTest, V2ContainersSeeTheirGroupAsTheRoot) {
  for (const char* group : {"0::/", "0::/../../other"}) {
    write("/proc/self/cgroup", group);
    write("/sys/fs/cgroup/cpu.max", "50000 100000");
    EXPECT_EQ(read_cgroup_limits(root_).cpus, 0.5);
  }
}

TEST_F(CgroupTest, V1) {
  write("/proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n2:cpuset:/job\n0::/job");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4194304");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1048576");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const CgroupLimits limits = read_cgroup_limits(root_);
  EXPECT_EQ(limits.cpus, 2);
  EXPECT_EQ(limits.memory_bytes, 4194304u);
  EXPECT_EQ(limits.memory_left, 3145728u);
}

TEST_F(CgroupTest, WithoutAnyThereIsNoLimit) {
  const CgroupLimits limits = read_cgroup_limits(root_);
  EXPECT_EQ(limits.cpus, std::nullopt);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
}

TEST(CpuList, AsTheKernelWritesIt) {
  EXPECT_EQ(*parse_cpu_list("0-3,8,10-11"), (std::vector<uint32_t>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(*parse_cpu_list(""), std::vector<uint32_t>());
  EXPECT_EQ(*parse_cpu_list("5"), std::vector<uint32_t>{5});
  EXPECT_EQ(*parse_cpu_list("3,1-2,2"), (std::vector<uint32_t>{1, 2, 3}));
  for (const char* text : {"x", "1-", "3-1", "1,,2", "1,", "-1", "1 2", "70000", "0-99999999"}) {
    EXPECT_EQ(parse_cpu_list(text).status().code(), FF_ERROR_ARGUMENT) << text;
  }
}

TEST(Process, OfThisOne) {
  const auto self = read_process("/", own_pid("/"));
  ASSERT_TRUE(self.ok()) << self.status().message();
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(self->start_time, 0u);
  EXPECT_NE(pid_namespace("/"), 0u);
  EXPECT_EQ(read_process("/", 0).status().code(), FF_ERROR_UNREACHABLE);
}

}  // namespace
}  // namespace ff
