// The whole probe over saved trees of real kinds of machine (tests/fixtures/machines), and live.
#include "probes/probe.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_set.h"
#include "base/files.h"
#include "probes/machine/machine_json.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string machine_folder(const std::string& name) {
  return std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/machines/" + name;
}

Machine probe(const std::string& name, const std::string& topology = "") {
  ProbeOptions options;
  options.root = machine_folder(name);
  options.topology = topology;
  const auto machine = probe_machine(options);
  EXPECT_TRUE(machine) << machine.error().what;
  return machine ? *machine : Machine();
}

struct Expected {
  const char* name;
  double usable;  // 0: unknown
  const char* cpus_limited_by;
  double memory_limit;
  const char* memory_limited_by;
  const char* container;
};

// One row for each machine: what binds, and what binds its memory.
const Expected kMachines[] = {
    {"two-socket-server", 16, "online CPUs", 263839064.0 * 1024, "MemTotal", "none"},
    {"hybrid-laptop", 12, "affinity", 16091044.0 * 1024, "MemTotal", "none"},
    {"hybrid-desktop", 5, "allowed CPUs", 16091044.0 * 1024, "MemTotal", "none"},
    {"docker-quota-in-parent", 1.5, "cpu.max of /batch.slice", 0x1p32, "memory.max of /batch.slice",
     "docker"},
    {"slurm-share", 4, "SLURM_CPUS_ON_NODE", 15000.0 * 1048576, "SLURM_MEM_PER_NODE", "slurm"},
    {"cgroup-v1-quota", 0.5, "cpu.cfs_quota_us of /tenant/job", 0x1p29,
     "hierarchical_memory_limit of /tenant", "none"},
    {"v1-v2-hybrid", 2, "online CPUs", 0x1p33, "memory.limit_in_bytes of /app", "none"},
    {"docker-v1-no-namespace", 2.5, "cpu.cfs_quota_us of /", 0x1p31,
     "memory.limit_in_bytes of /docker/ab12", "docker"},
    {"kubernetes-namespace", 2, "cpu.max of /", 0x1p33, "memory.max of /", "kubernetes"},
    {"garbage-limits", 0, "", 16000000.0 * 1024, "MemTotal", "none"},
};

TEST(Probe, KnowsWhatBindsOnEveryMachine) {
  for (const Expected& expected : kMachines) {
    const Machine machine = probe(expected.name);
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(machine.cpu.usable_cpus.value_or(0), expected.usable);
    if (expected.usable > 0) {
      EXPECT_EQ(machine.cpu.usable_cpus.source, expected.cpus_limited_by);
    }
    EXPECT_EQ(machine.memory.limit_bytes.value_or(0), expected.memory_limit);
    EXPECT_EQ(machine.memory.limit_bytes.source, expected.memory_limited_by);
    EXPECT_EQ(machine.container.value_or("unknown"), expected.container);
    EXPECT_LE(static_cast<double>(machine.memory.available_bytes), expected.memory_limit);
  }
}

TEST(Probe, NothingOfThisMachineEntersASavedOne) {
  for (const Expected& expected : kMachines) {
    const Machine machine = probe(expected.name);
    SCOPED_TRACE(expected.name);
    EXPECT_FALSE(machine.cpu.effective_cores.known());
    EXPECT_FALSE(machine.memory.bandwidth_bytes_per_second.known());
    EXPECT_FALSE(machine.memory.shm_free_bytes.known());
    EXPECT_TRUE(machine.gpus.empty());
    EXPECT_THAT(machine.cpu.effective_cores.source, HasSubstr("saved tree"));
    for (const ThreadEnvFact& fact : machine.thread_env) {  // ours has OPENBLAS_... or PATH, not
      EXPECT_TRUE(fact.name == "OMP_NUM_THREADS" || fact.name.substr(0, 6) == "SLURM_")
          << fact.name;
    }
  }
}

TEST(Probe, EveryMachineRoundTripsThroughJson) {
  for (const Expected& expected : kMachines) {
    const std::string text = machine_json(probe(expected.name));
    const auto back = parse_machine_json(text);
    ASSERT_TRUE(back) << expected.name << ": " << back.error().what;
    EXPECT_EQ(machine_json(*back), text) << expected.name;
  }
}

TEST(Probe, TwoSocketServer) {
  const Machine machine = probe("two-socket-server");
  const CpuFacts& cpu = machine.cpu;
  EXPECT_EQ(cpu.model, "Intel(R) Xeon(R) Gold 6434");
  EXPECT_EQ(cpu.packages, 2);
  EXPECT_EQ(cpu.numa_nodes, 2);
  EXPECT_EQ(cpu.l3_groups, 2);
  EXPECT_EQ(cpu.physical_cores, 8);
  EXPECT_EQ(cpu.logical_cpus, 16);
  EXPECT_EQ(cpu.l3_bytes_each, 30720ULL * 1024);
  EXPECT_EQ(cpu.native_bf16.value, true);
  EXPECT_THAT(cpu.isa, Contains("amx_bf16"));
  EXPECT_EQ(cpu.governor.value, "performance");
  EXPECT_EQ(machine.host, "xeon-07");
  EXPECT_EQ(machine.os, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(machine.virtual_machine.value, "none");
  EXPECT_EQ(machine.memory.transparent_hugepages.value, "always");
  EXPECT_EQ(machine.memory.overcommit.value, 0);
  EXPECT_EQ(machine.memory.shm_bytes.value, 131919532ULL * 1024);
  EXPECT_EQ(machine.memory.swap_total_bytes, 8388604ULL * 1024);
  EXPECT_EQ(machine.rules_of_thumb.memory_half, 125);
  EXPECT_EQ(machine.rules_of_thumb.cores_60_percent, 4);
  EXPECT_EQ(machine.rules_of_thumb.seven, 7);
  // SMT siblings: CPU 8 is the second thread of CPU 0's core.
  for (const CpuPlace& place : cpu.places) {
    EXPECT_EQ(place.smt_index, place.cpu / 8);
    EXPECT_EQ(place.numa, place.cpu % 8 / 4);
  }
  EXPECT_EQ(machine.recommendation.nproc, 2);
  EXPECT_EQ(machine.recommendation.threads, 4);
  ASSERT_EQ(machine.thread_env.size(), 1U);
  EXPECT_TRUE(machine.thread_env[0].limits);
}

TEST(Probe, HybridLaptopFromXml) {
  const Machine machine = probe("hybrid-laptop", machine_folder("hybrid-laptop/topology.xml"));
  EXPECT_EQ(machine.cpu.physical_cores, 8);
  EXPECT_EQ(machine.cpu.logical_cpus, 12);
  int fast = 0;
  for (const CpuPlace& place : machine.cpu.places) {
    fast += place.kind > 0 ? 1 : 0;
    EXPECT_EQ(place.kind > 0, place.cpu < 8) << place.cpu;
  }
  EXPECT_EQ(fast, 8);
  EXPECT_EQ(machine.recommendation.threads * machine.recommendation.nproc, 4);  // the P cores
  EXPECT_EQ(machine.cpu.native_bf16.value, false);
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("swapped out")));
}

TEST(Probe, HybridDesktopFromCounterFolders) {
  const Machine machine = probe("hybrid-desktop");
  ASSERT_EQ(machine.cpu.places.size(), 6U);
  for (const CpuPlace& place : machine.cpu.places) EXPECT_EQ(place.kind, place.cpu < 4 ? 1 : 0);
  EXPECT_EQ(machine.recommendation.threads, 2);
  EXPECT_EQ(machine.cpu.allowed.text(), "0-4");  // CPU 5 is isolated
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("CPUs 5 are isolated")));
}

TEST(Probe, DockerWithQuotaInTheParent) {
  const Machine machine = probe("docker-quota-in-parent");
  EXPECT_EQ(machine.cpu.allowed.text(), "0-3");
  EXPECT_EQ(machine.recommendation.nproc * machine.recommendation.threads, 1);
  // Room in the parent: 4 GiB less its working set of 1.5 - 0.5 GiB.
  EXPECT_EQ(machine.memory.available_bytes, 3ULL << 30);
  EXPECT_EQ(machine.memory.shm_bytes.value, 64ULL << 20);
  EXPECT_EQ(machine.virtual_machine.value, "kvm");
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("/dev/shm has only 64.0 MiB")));
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("OMP_NUM_THREADS=4 starts more threads")));
  bool throttled = false;
  for (const SystemSetting& setting : machine.settings) {
    throttled = throttled || (setting.name == "times_throttled" && setting.value == "4");
  }
  EXPECT_TRUE(throttled);
}

TEST(Probe, SlurmShareTakesTheLeastOfMaskCpusetAndGrant) {
  const Machine machine = probe("slurm-share", "pack:2 l3:1 core:4 pu:2");
  EXPECT_EQ(machine.cpu.allowed.text(), "2-7");
  EXPECT_EQ(machine.cpu.usable_cpus.value, 4);
  EXPECT_EQ(machine.cpu.limits.front().limited_by, "SLURM_CPUS_ON_NODE");
  bool cpuset = false;
  for (const Limit& limit : machine.cpu.limits) {
    cpuset = cpuset || (limit.limited_by == "cpuset of /slurm/uid_1000/job_42" && limit.value == 6);
  }
  EXPECT_TRUE(cpuset);
}

TEST(Probe, SaysWhatItCouldNotSee) {
  EXPECT_THAT(probe("docker-v1-no-namespace").unknowns,
              Contains(HasSubstr("/docker/ab12 is not visible")));
  EXPECT_THAT(probe("kubernetes-namespace").unknowns,
              Contains(HasSubstr("above the visible root")));
  EXPECT_THAT(probe("two-socket-server").unknowns, testing::IsEmpty());
  const Machine garbage = probe("garbage-limits");
  EXPECT_THAT(garbage.unknowns, Contains(HasSubstr("/a/b/cpu.max holds no quota: 'fast'")));
  EXPECT_THAT(garbage.unknowns, Contains(HasSubstr("/a/memory.max holds no limit: 'lots'")));
  EXPECT_EQ(garbage.recommendation.nproc, 0);
}

TEST(Probe, WarnsWhereOneKillTakesTheWholeGroup) {
  EXPECT_THAT(probe("kubernetes-namespace").warnings,
              Contains(HasSubstr("memory.oom.group of control group / is 1")));
  EXPECT_THAT(probe("docker-quota-in-parent").warnings,
              testing::Not(Contains(HasSubstr("memory.oom.group"))));
}

TEST(Probe, GarbageAndMissingFilesAreUnknownNotGuessed) {
  for (const char* name : {"garbage-files", "missing-files"}) {
    const Machine machine = probe(name);
    SCOPED_TRACE(name);
    EXPECT_FALSE(machine.cpu.usable_cpus.known());
    EXPECT_FALSE(machine.memory.limit_bytes.known());
    EXPECT_FALSE(machine.cpu.native_bf16.known());
    EXPECT_FALSE(machine.memory.shm_bytes.known());
    EXPECT_FALSE(machine.memory.overcommit.known());
    EXPECT_EQ(machine.memory.total_bytes, 0U);
    EXPECT_EQ(machine.rules_of_thumb.memory_half, 0);
    EXPECT_EQ(machine.rules_of_thumb.cores_60_percent, 0);
    EXPECT_EQ(machine.recommendation.nproc, 0);
    EXPECT_GE(machine.unknowns.size(), 8U);
    EXPECT_TRUE(parse_machine_json(machine_json(machine)));
  }
}

TEST(Probe, ATopologyAloneIsNoMachine) {
  ProbeOptions options;
  options.topology = "pack:2 numa:2 l3:2 core:8 pu:2";
  const auto machine = probe_machine(options);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->cpu.usable_cpus.value, 128);
  EXPECT_FALSE(machine->memory.limit_bytes.known());
  EXPECT_FALSE(machine->cpu.effective_cores.known());
  EXPECT_TRUE(machine->host.empty());
  EXPECT_TRUE(machine->thread_env.empty());
}

TEST(Probe, RefusesWrongRootsAndTopologies) {
  struct Case {
    const char* root;
    const char* topology;
    ErrorKind kind;
    const char* word;
  };
  const std::string not_xml = std::string(OCRTUNE_SOURCE_DIR) + "/CMakeLists.txt";
  // hwloc itself ends on it by SIGSEGV.
  const std::string folder = make_temporary_directory("probe").value();
  const std::string damaged = join_path(folder, "damaged.xml");
  std::string xml = *read_file(machine_folder("hybrid-laptop/topology.xml"));
  const std::size_t at = xml.find("complete_cpuset=\"0x00000008\"");
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(write_file(damaged, xml.replace(at, 15, "complete_cpu")).ok());
  const Case cases[] = {{"/no/such/folder", "", ErrorKind::missing, "/no/such/folder"},
                        {"/etc/passwd", "", ErrorKind::usage, "not a folder"},
                        {"/etc", "", ErrorKind::missing, "neither proc/ nor sys/"},
                        {"", "no-such.xml", ErrorKind::missing, "no-such.xml"},
                        {"", "nonsense", ErrorKind::missing, "nonsense"},
                        {"", "pack:2 foo:3", ErrorKind::usage, "pack:2 foo:3"},
                        {"", "/tmp", ErrorKind::usage, "folder"},
                        {"", not_xml.c_str(), ErrorKind::invalid, "XML"},
                        {"", damaged.c_str(), ErrorKind::invalid, "XML"}};
  for (const Case& wrong : cases) {
    ProbeOptions options;
    options.root = wrong.root;
    options.topology = wrong.topology;
    const auto machine = probe_machine(options);
    ASSERT_FALSE(machine) << wrong.word;
    EXPECT_EQ(machine.error().kind, wrong.kind) << machine.error().what;
    EXPECT_THAT(machine.error().what, HasSubstr(wrong.word));
    EXPECT_EQ(machine.error().what.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(remove_tree(folder).ok());
}

TEST(Probe, LiveAgreesWithTheKernel) {
  ProbeOptions options;
  options.quick = true;
  options.environment = Environment{{"OMP_NUM_THREADS", "1"}};
  const auto machine = probe_machine(options);
  ASSERT_TRUE(machine) << machine.error().what;
  const CpuSet own = current_affinity();
  EXPECT_EQ(machine->cpu.allowed.minus(own).text(), "");
  EXPECT_GE(machine->cpu.usable_cpus.value_or(0), 0.01);
  EXPECT_LE(machine->cpu.usable_cpus.value_or(1e9), own.count());
  EXPECT_GT(machine->memory.total_bytes, 1ULL << 20);
  EXPECT_FALSE(machine->cpu.effective_cores.known());
  EXPECT_THAT(machine->cpu.effective_cores.source, HasSubstr("--quick"));
  EXPECT_EQ(machine->fingerprint.size(), 16U);
  EXPECT_EQ(machine->source, "this machine");
}

TEST(Probe, FingerprintFollowsTheHardwareAndTheLimits) {
  const Machine a = probe("two-socket-server");
  EXPECT_EQ(a.fingerprint, probe("two-socket-server").fingerprint);
  EXPECT_NE(a.fingerprint, probe("hybrid-laptop").fingerprint);
  EXPECT_NE(a.fingerprint, probe("two-socket-server", "pack:2 core:4 pu:1").fingerprint);
}

}  // namespace
}  // namespace ocrtune
