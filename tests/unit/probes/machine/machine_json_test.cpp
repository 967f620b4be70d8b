#include "probes/machine/machine_json.h"

#include <string>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

Machine full_machine() {
  Machine m;
  m.source = "this machine";
  m.host = "node-7";
  m.kernel = "6.1.0";
  m.os = "Debian";
  m.fingerprint = "0123456789abcdef";
  m.container = {"docker", "/.dockerenv"};
  m.virtual_machine = {std::nullopt, "no flags"};
  m.cpu.model = "EPYC \"quoted\"";
  m.cpu.topology_source = "hwloc";
  m.cpu.places = {{0, 0, 0, 0, 0, 0, 1}, {4, 0, 0, 0, 0, 1, 1}, {5, -1, -1, -1, -1, 0, 0}};
  m.cpu.allowed = CpuSet::parse("0,4-5").value();
  m.cpu.packages = 1;
  m.cpu.numa_nodes = 2;
  m.cpu.l3_groups = 3;
  m.cpu.physical_cores = 2;
  m.cpu.logical_cpus = 3;
  m.cpu.l3_bytes_each = 1ULL << 25;
  m.cpu.usable_cpus = {1.5, "cpu.max of /kubepods"};
  m.cpu.limits = {{1.5, "cpu.max of /kubepods"}, {3, "affinity"}};
  m.cpu.effective_cores = {1.25, "measured"};
  m.cpu.scaling = {{1, 1.0}, {2, 1.25}};
  m.cpu.isa = {"avx2", "fma"};
  m.cpu.isa_source = "cpuid and XCR0";
  m.cpu.native_bf16 = {false, "cpuid and XCR0"};
  m.cpu.governor = {std::nullopt, "no file"};
  m.memory.total_bytes = 24684096ULL << 10;
  m.memory.available_bytes = 5ULL << 30;
  m.memory.limit_bytes = {0x1p33, "memory.max of /a"};
  m.memory.limits = {{0x1p33, "memory.max of /a"}};
  m.memory.shm_bytes = {64ULL << 20, "statvfs"};
  m.memory.shm_free_bytes = {std::nullopt, "saved"};
  m.memory.swap_total_bytes = 7;
  m.memory.swap_free_bytes = 6;
  m.memory.overcommit = {2, "/proc/sys/vm/overcommit_memory"};
  m.memory.transparent_hugepages = {"madvise", "/sys"};
  m.memory.bandwidth = {{1, 1.25e10}, {2, 2.5e10}};
  m.memory.bandwidth_bytes_per_second = {2.5e10, "measured"};
  m.ulimits = {{"open files", "1024"}};
  m.thread_env = {{"OMP_NUM_THREADS", "1", "one thread", true}};
  m.settings = {{"numa_balancing", "1", "/proc/sys/kernel/numa_balancing"}};
  GpuFacts gpu;
  gpu.index = 1;
  gpu.name = "H100";
  gpu.uuid = "GPU-1";
  gpu.driver = "550.1";
  gpu.memory_bytes = 80;
  gpu.slices = {"MIG-1"};
  gpu.pids = {42};
  gpu.power_watts = 71.5;
  m.gpus = {gpu};
  m.gpu_links = {{0, 1, "NVL", true, "ok", "not supported", "ok"}};
  m.cuda_driver_version = 12040;
  m.p2p = {"BROKEN", "it hangs", "high", {{"NCCL_P2P_DISABLE", "1"}}, {"a"}, {"b"}, {"c"}};
  m.gpu_state = "1 GPU";
  m.rules_of_thumb = {11, 1, 7};
  m.recommendation = {1, 2, 0, "compact", {{"OMP_NUM_THREADS", "2"}}, {"because"}};
  m.unknowns = {"swap"};
  m.warnings = {"busy"};
  return m;
}

TEST(MachineJson, RoundTripLosesNothing) {
  const std::string text = machine_json(full_machine());
  const auto back = parse_machine_json(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(machine_json(*back), text);
  // The text could lose a field both ways; so look at the struct, too.
  EXPECT_EQ(back->cpu.places.size(), 3U);
  EXPECT_EQ(back->cpu.places[0].kind, 1);
  EXPECT_EQ(back->cpu.places[2].core, -1);
  EXPECT_EQ(back->cpu.allowed.text(), "0,4-5");
  EXPECT_EQ(back->cpu.usable_cpus.value, 1.5);
  EXPECT_EQ(back->cpu.limits[1].limited_by, "affinity");
  EXPECT_EQ(back->cpu.scaling[1].second, 1.25);
  EXPECT_EQ(back->cpu.native_bf16.value, false);
  EXPECT_EQ(back->cpu.governor.source, "no file");
  EXPECT_FALSE(back->virtual_machine.known());
  EXPECT_EQ(back->memory.limit_bytes.value, 0x1p33);
  EXPECT_EQ(back->memory.shm_bytes.value, 64ULL << 20);
  EXPECT_FALSE(back->memory.shm_free_bytes.known());
  EXPECT_EQ(back->memory.bandwidth[1].second, 2.5e10);
  EXPECT_EQ(back->memory.overcommit.value, 2);
  EXPECT_EQ(back->thread_env[0].limits, true);
  EXPECT_EQ(back->gpus[0].uuid, "GPU-1");
  EXPECT_EQ(back->gpus[0].slices.at(0), "MIG-1");
  EXPECT_EQ(back->gpus[0].pids.at(0), 42);
  EXPECT_EQ(back->gpus[0].power_watts, 71.5);
  EXPECT_EQ(back->gpu_links.at(0).write, "not supported");
  EXPECT_TRUE(back->gpu_links[0].nvlink);
  EXPECT_EQ(back->p2p.env.at(0).second, "1");
  EXPECT_EQ(back->p2p.hints.at(0), "c");
  EXPECT_EQ(back->recommendation.env[0].second, "2");
  EXPECT_EQ(back->rules_of_thumb.memory_half, 11);
  EXPECT_EQ(back->unknowns[0], "swap");
}

TEST(MachineJson, NamesThatOthersReadAreThere) {
  const std::string text = machine_json(full_machine(), -1);
  for (const char* name :
       {"\"usable_cpus\":{\"value\":1.5,\"limited_by\":\"cpu.max of /kubepods\"",
        "\"effective_cores\":1.25", "\"physical_cores\":2",
        "\"memory_limit_bytes\":{\"value\":8589934592,\"limited_by\":\"memory.max of /a\"",
        "\"memory_bandwidth_bytes_per_second\":25000000000", "\"shm_bytes\":67108864",
        "\"isa\":[\"avx2\",\"fma\"]", "\"gpus\":[{",
        "\"folk_rules\":{\"memory_half\":11,\"cores_60_percent\":1,\"seven\":7}",
        "\"unknowns\":[\"swap\"]", "\"recommendation\":{\"measured\":false"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name << " is not in " << text;
  }
}

TEST(MachineJson, UnknownIsNullAndNotZero) {
  Machine machine;
  machine.cpu.effective_cores.source = "not measured";
  const std::string text = machine_json(machine, -1);
  EXPECT_NE(text.find("\"effective_cores\":null"), std::string::npos) << text;
  EXPECT_NE(text.find("\"usable_cpus\":{\"value\":null"), std::string::npos) << text;
  EXPECT_NE(text.find("\"physical_cores\":null"), std::string::npos) << text;
  const auto back = parse_machine_json(text);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->cpu.effective_cores.known());
  EXPECT_EQ(back->cpu.effective_cores.source, "not measured");
}

TEST(MachineJson, BytesThatAreNotUtf8DoNotBreakTheDocument) {
  Machine machine;
  machine.host = "bad\xFFhost";
  machine.container = {"\xC3", "x"};
  const auto back = parse_machine_json(machine_json(machine));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->host, "bad\xEF\xBF\xBDhost");
}

TEST(MachineJson, RefusesWhatIsNoMachine) {
  for (const char* text : {"", "{", "[1,2]", "7", "{\"cpu\": 3}", "{\"physical_cores\": \"two\"}",
                           "{\"cpu\": {\"places\": [[1, 2]]}}",
                           "{\"usable_cpus\": {\"limits\": [{\"limited_by\": \"x\"}]}}"}) {
    const auto machine = parse_machine_json(text);
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(machine.error().kind, ErrorKind::invalid) << text;
  }
  EXPECT_TRUE(parse_machine_json("{\"a later name\": 1}"));
}

}  // namespace
}  // namespace ocrtune
