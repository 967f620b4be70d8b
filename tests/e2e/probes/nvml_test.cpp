// GPUs out of text files, through the real worker process: machines with GPUs, and every way in
// which a driver can fail.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/gpu/gpu.h"
#include "probes/machine/machine_json.h"
#include "probes/machine_gpus.h"
#include "probes/p2p/p2p_static.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Environment stub(const std::string& box) {
  return {{"OCRTUNE_NVML_PATH", OCRTUNE_NVML_STUB_LIBRARY},
          {"OCRTUNE_NVML_STUB", OCRTUNE_SOURCE_DIR + "/tests/fixtures/gpu_boxes/" + box + ".txt"},
          {"OCRTUNE_GPU_WORKER", parent_path(OCRTUNE_BINARY) + "/ocrtune-gpu-worker"}};
}

GpuReport probe(const std::string& box, double deadline_seconds = 30) {
  GpuProbeOptions options;
  options.deadline_seconds = deadline_seconds;
  return probe_gpus(options, stub(box));
}

Machine machine_with(const std::string& box) {
  Machine machine;
  machine.virtual_machine = {"none", "test"};
  add_gpus(machine, FileRoot("/no/such/root"), stub(box), 30);
  return machine;
}

// The version of whatever library the environment leads to; none is no error.
TEST(Nvml, NamesTheNcclThatWouldBeLoaded) {
  Environment environment = stub("2x4090");
  environment["OCRTUNE_NCCL_PATH"] = "/no/such/libnccl.so.2";
  GpuProbeOptions options;
  options.deadline_seconds = 30;
  const GpuReport without = probe_gpus(options, environment);
  EXPECT_EQ(without.gpus.size(), 2U);
  EXPECT_EQ(without.nccl_version, "");
  environment["OCRTUNE_NCCL_PATH"] = OCRTUNE_NVML_STUB_LIBRARY;  // it answers as NCCL too
  const GpuReport with = probe_gpus(options, environment);
  EXPECT_EQ(with.gpus.size(), 2U);
  EXPECT_EQ(with.nccl_version, "2.18.5");
  Machine machine;
  add_gpus(machine, FileRoot("/no/such/root"), environment, 30);
  const bool told = std::any_of(
      machine.settings.begin(), machine.settings.end(), [](const SystemSetting& setting) {
        return setting.name == "nccl_version" && setting.value == "2.18.5";
      });
  EXPECT_TRUE(told);
}

TEST(Nvml, EightH100OnNvswitch) {
  const GpuReport report = probe("8xh100-nvswitch");
  EXPECT_EQ(report.state, "8 GPUs, driver 550.54.15");
  EXPECT_TRUE(report.answered);
  EXPECT_EQ(report.cuda_driver_version, 12040);
  ASSERT_EQ(report.gpus.size(), 8U);
  const GpuFacts& gpu = report.gpus[7];
  EXPECT_EQ(gpu.index, 7);
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.uuid, "GPU-h100-7");
  EXPECT_EQ(gpu.pci_bus_id, "0000:88:00.0");
  EXPECT_EQ(gpu.memory_bytes, 85520809984ULL);
  EXPECT_EQ(gpu.memory_used_bytes, 1048576U);
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.pcie_generation_most, 5);
  EXPECT_EQ(gpu.nvlinks, 18);
  EXPECT_EQ(gpu.sm_clock_mhz, 345);
  EXPECT_EQ(gpu.sm_clock_most_mhz, 1980);
  EXPECT_DOUBLE_EQ(gpu.power_watts, 71.5);
  EXPECT_DOUBLE_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.temperature_celsius, 31);
  EXPECT_EQ(gpu.ecc, "on");
  EXPECT_EQ(gpu.persistence, "on");
  EXPECT_THAT(gpu.drawing_pids, ElementsAre(77));
  EXPECT_EQ(report.links[0].atomics, "ok");
  EXPECT_EQ(report.gpus[0].ecc, "") << "unknown stays unknown";
  EXPECT_EQ(gpu.mig, "off");
  EXPECT_EQ(gpu.compute_mode, "default");
  EXPECT_EQ(gpu.busy_percent, 0);
  ASSERT_EQ(report.links.size(), 56U);
  for (const GpuLink& link : report.links) {
    EXPECT_TRUE(link.nvlink);
    EXPECT_EQ(link.level, "NVL");
    EXPECT_EQ(link.read, "ok");
  }
}

TEST(Nvml, TwoGeforceWithoutPeerAccess) {
  const Machine machine = machine_with("2x4090");
  EXPECT_EQ(machine.gpu_state, "2 GPUs, driver 570.86.10");
  ASSERT_EQ(machine.gpu_links.size(), 2U);
  EXPECT_EQ(machine.gpu_links[0].level, "PHB");
  EXPECT_EQ(machine.gpu_links[0].read, "not supported");
  EXPECT_EQ(machine.gpus[0].pcie_generation, 1);  // idle
  EXPECT_EQ(machine.gpus[0].pcie_generation_most, 4);
  EXPECT_EQ(machine.p2p.verdict, "UNSUPPORTED");
  EXPECT_THAT(machine.p2p.env, IsEmpty());
}

TEST(Nvml, ADriversYesIsNoVerdict) {
  EXPECT_EQ(machine_with("2x4090-old-driver").p2p.verdict, "INCONCLUSIVE");
  EXPECT_EQ(machine_with("8xh100-nvswitch").p2p.verdict, "INCONCLUSIVE");
  const Machine a40 = machine_with("4xa40-pcie");
  EXPECT_EQ(a40.p2p.verdict, "INCONCLUSIVE");
  EXPECT_THAT(a40.p2p.not_checked, Contains("copy between the GPUs"));
  int near = 0;
  for (const GpuLink& link : a40.gpu_links) near += link.level == "PXB" ? 1 : 0;
  EXPECT_EQ(near, 4);
}

TEST(Nvml, BridgesGoodAndBroken) {
  const Machine good = machine_with("2x3090-bridge");
  EXPECT_TRUE(good.gpu_links[0].nvlink);
  EXPECT_EQ(good.p2p.verdict, "INCONCLUSIVE");
  const Machine broken = machine_with("2x3090-broken-bridge");
  EXPECT_TRUE(broken.gpu_links[0].nvlink);  // the links are up, the driver says no
  EXPECT_EQ(broken.p2p.verdict, "NVLINK_FAULT");
}

TEST(Nvml, MigSlicesAreListed) {
  const GpuReport report = probe("a100-mig");
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(report.gpus[0].mig, "on");
  EXPECT_THAT(report.gpus[0].slices, ElementsAre("MIG-1111", "MIG-2222"));
  EXPECT_EQ(report.gpus[0].busy_percent, -1);
}

TEST(Nvml, NoDriverAndNoGpuAreNormalAnswers) {
  for (const char* box : {"no-driver", "no-gpu"}) {
    const Machine machine = machine_with(box);
    EXPECT_THAT(machine.gpu_state, StartsWith("no GPU: "));
    EXPECT_TRUE(machine.gpus.empty());
    EXPECT_EQ(machine.p2p.verdict, "NOT_APPLICABLE");
    EXPECT_THAT(machine.unknowns, IsEmpty());
  }
}

TEST(Nvml, AHungDriverIsCutOffAndLeavesNothing) {
  const auto start = std::chrono::steady_clock::now();
  const GpuReport report = probe("driver-hangs", 0.5);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 20);
  EXPECT_FALSE(report.answered);
  EXPECT_THAT(report.state, HasSubstr("did not answer"));
  EXPECT_THAT(report.unknowns, Contains(HasSubstr("did not answer")));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST(Nvml, ACrashingDriverIsAnUnknown) {
  const GpuReport report = probe("driver-crashes");
  EXPECT_FALSE(report.answered);
  EXPECT_THAT(report.state, HasSubstr("SIGABRT"));
}

TEST(Nvml, AVersionMismatchSaysWhatToDo) {
  const GpuReport report = probe("driver-mismatch");
  EXPECT_FALSE(report.answered);
  EXPECT_THAT(report.state, HasSubstr("restart after a driver update"));
}

TEST(Nvml, OneLostGpuDoesNotHideTheOther) {
  const Machine machine = machine_with("one-lost-gpu");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].compute_mode, "exclusive");
  EXPECT_THAT(machine.unknowns, Contains(HasSubstr("GPU 1: code 15")));
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("exclusive mode")));
  EXPECT_THAT(machine.warnings, Contains(HasSubstr("100 % busy with no process")));
}

TEST(Nvml, WrongWorkersAndLibrariesAreNamed) {
  GpuProbeOptions options;
  options.worker = "/no/such/worker";
  EXPECT_THAT(probe_gpus(options, {}).state, HasSubstr("/no/such/worker is not there"));
  options.worker = "/bin/true";
  EXPECT_THAT(probe_gpus(options, {}).state, HasSubstr("ended without a report"));
  options.worker = "/etc/passwd";
  EXPECT_THAT(probe_gpus(options, {}).state, StartsWith("unknown: "));
  Environment wrong = stub("2x4090");
  wrong["OCRTUNE_NVML_PATH"] = "/etc/passwd";
  EXPECT_THAT(probe_gpus({}, wrong).state, StartsWith("unknown: "));
  wrong["OCRTUNE_NVML_PATH"] = "libm.so.6";
  EXPECT_THAT(probe_gpus({}, wrong).state, HasSubstr("not NVIDIA's"));
}

TEST(NvmlReport, RoundTripsAmongNoise) {
  const GpuReport report = probe("8xh100-nvswitch");
  const std::string line = gpu_report_line(report);
  const auto back = find_gpu_report("noise\n" + line + "more noise\n");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(gpu_report_line(*back), line);
  for (const std::string& text :
       {std::string(), std::string("{}"), line.substr(0, line.size() / 2),
        std::string("{\"ocrtune_gpu_report\":7}\n"),
        std::string("{\"ocrtune_gpu_report\":{\"gpus\":[{\"index\":\"x\"}]}}\n")}) {
    EXPECT_FALSE(find_gpu_report(text)) << text;
  }
}

TEST(NvmlReport, TheMachineCardKeepsEverything) {
  const Machine machine = machine_with("8xh100-nvswitch");
  const std::string text = machine_json(machine);
  const auto back = parse_machine_json(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(machine_json(*back), text);
  EXPECT_EQ(back->gpus[3].nvlinks, 18);
  EXPECT_EQ(back->gpu_links.size(), 56U);
  EXPECT_EQ(back->p2p.verdict, "INCONCLUSIVE");
  EXPECT_EQ(back->cuda_driver_version, 12040);
}

TEST(Nvml, UnequalCardsAndTheBooksOfEachProcess) {
  const GpuReport report = probe("a6000-and-3080");
  ASSERT_EQ(report.processes.size(), 3U);
  EXPECT_EQ(report.processes[1].gpu, 0);
  EXPECT_EQ(report.processes[1].pid, 4002);
  EXPECT_EQ(report.processes[1].bytes, 2ULL << 30);
  EXPECT_EQ(report.processes[2].gpu, 1);
  EXPECT_EQ(report.processes[2].bytes, 0U) << "no books there";
  EXPECT_EQ(report.cuda_cores.at(1), 8704);
  const Machine machine = machine_with("a6000-and-3080");
  EXPECT_THAT(machine.warnings,
              Contains(HasSubstr("not alike: GPU 0 is NVIDIA RTX A6000, 48.0 GiB, 10752 cores, "
                                 "GPU 1 is NVIDIA GeForce RTX 3080, 10.0 GiB, 8704 cores")));
  EXPECT_THAT(machine_with("2x4090").warnings, testing::Not(Contains(HasSubstr("not alike"))));
}

TEST(Nvml, SaysWhetherMpsRuns) {
  const std::string root = make_temporary_directory("mps").value();
  const auto state = [&] {
    Machine machine;
    add_gpus(machine, FileRoot(root), stub("2x4090"), 30);
    for (const SystemSetting& setting : machine.settings) {
      if (setting.name == kMpsSetting) return setting.value;
    }
    return std::string("not said");
  };
  EXPECT_EQ(state(), "off");
  ASSERT_TRUE(make_directories(join_path(root, "tmp/nvidia-mps")));
  ASSERT_TRUE(write_file(join_path(root, "tmp/nvidia-mps/nvidia-cuda-mps-control.pid"), "17"));
  EXPECT_EQ(state(), "on");
  ASSERT_TRUE(remove_tree(root));
}

}  // namespace
}  // namespace ocrtune
