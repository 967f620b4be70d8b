// The user's own command, with real clients: Paddle and PyTorch through their real launchers.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "probes/probe.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"

namespace ocrtune {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string client(const std::string& name) {
  return std::string(OCRTUNE_SOURCE_DIR) + "/tests/clients/" + name;
}

// The python that has the framework; empty, with the reason, where it cannot be installed.
std::string python_with(const std::string& framework, std::string* reason) {
  ProcessOptions options;
  options.arguments = {client("install"), framework, parent_path(OCRTUNE_BINARY) + "/clients"};
  auto process = Process::start(options);
  if (!process) {
    *reason = process.error().what;
    return "";
  }
  const auto exit = process->wait(1200);
  if (!exit || !exit->clean()) {
    *reason = framework + ": " + process->output().tail(3);
    return "";
  }
  return process->output().tail(1);
}

Machine live_machine() {
  ProbeOptions quick;
  quick.quick = true;
  auto machine = probe_machine(quick);
  EXPECT_TRUE(machine.ok());
  return machine ? *machine : Machine();
}

class SlowClients : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = make_temporary_directory("client");
    ASSERT_TRUE(folder.ok());
    folder_ = *folder;
    shm_ = list_directory("/dev/shm").value_or(std::vector<std::string>());
  }
  void TearDown() override {
    if (folder_.empty()) return;
    std::vector<std::string> left;
    for (const ProcessFacts& process : all_processes()) {
      if (process.state == 'Z' || process.pid == ::getpid()) continue;
      const auto environment = read_file("/proc/" + std::to_string(process.pid) + "/environ");
      if (environment && environment->find(process_mark()) != std::string::npos) {
        left.push_back(process.name);
      }
    }
    EXPECT_TRUE(left.empty()) << "left: " << join(left, ", ");
    for (const std::string& name : list_directory("/dev/shm").value_or(shm_)) {
      const bool of_a_client = starts_with(name, "paddle_") || starts_with(name, "torch_");
      if (of_a_client) {
        EXPECT_THAT(shm_, Contains(name)) << "left in /dev/shm";
      }
    }
    EXPECT_TRUE(remove_tree(folder_).ok());
  }

  Trial run(const CommandWorkload& workload, const Knobs& knobs) {
    const Machine machine = live_machine();
    const auto prepared = prepare_command(workload, machine);
    EXPECT_TRUE(prepared.ok()) << prepared.error().what;
    if (!prepared) return Trial();
    launch_ = launch_text(*launch_of(*prepared, machine, knobs));
    TrialLimits limits;
    limits.measure_seconds = 2;
    limits.max_seconds = 120;
    return make_command_runner(*prepared, machine)->run(knobs, limits);
  }

  std::string folder_, launch_;
  std::vector<std::string> shm_;
};

TEST_F(SlowClients, PaddleThroughItsLauncherWithThePreset) {
  std::string reason;
  const std::string python = python_with("paddle", &reason);
  if (python.empty()) GTEST_SKIP() << reason;
  ASSERT_TRUE(write_file(folder_ + "/crnn.yml", *read_file(client("crnn.yml"))).ok());
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "img_" + std::to_string(i) + ".png\tabc\n";
  ASSERT_TRUE(write_file(folder_ + "/labels.txt", lines).ok());
  CommandWorkload workload;
  workload.command = {
      python,     "-m", "paddle.distributed.launch", client("paddle_train.py"), "-c",
      "crnn.yml", "-o", "Global.use_gpu=False"};
  workload.directory = folder_;
  workload.preset = "paddleocr";
  workload.starter = OCRTUNE_BINARY;
  workload.knobs = {"nproc", "threads", "batch", "workers", "binding"};
  Knobs knobs;
  knobs.nproc = 2;
  knobs.batch = 4;
  knobs.workers = 1;
  knobs.binding = current_affinity().count() >= 2 ? "compact" : "none";
  const Trial trial = run(workload, knobs);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason << "\n" << trial.log_tail;
  EXPECT_GT(trial.samples_per_second, 0);
  EXPECT_GT(trial.peak_bytes, 100u << 20);
  EXPECT_THAT(trial.placement, HasSubstr("1:"));
  EXPECT_THAT(launch_, HasSubstr("--nproc_per_node=2"));
  EXPECT_THAT(launch_, HasSubstr("Train.loader.batch_size_per_card=4"));
  EXPECT_THAT(launch_, testing::Not(HasSubstr("eval_batch_step")));
  knobs.nproc = 2;
  knobs.batch = 400;
  const Trial refused = run(workload, knobs);
  EXPECT_EQ(refused.outcome, Outcome::unsupported);
  EXPECT_THAT(refused.reason, HasSubstr("less than a batch of 400"));
}

TEST_F(SlowClients, TorchThroughTorchrun) {
  std::string reason;
  const std::string python = python_with("torch", &reason);
  if (python.empty()) GTEST_SKIP() << reason;
  CommandWorkload workload;
  // torch 1.13 fails under Python 3.11 with --redirects=0, its default; 1 also tees to stdout.
  workload.command = {python,
                      "-m",
                      "torch.distributed.run",
                      "--redirects=1",
                      "--tee=1",
                      "--log_dir={trial_dir}",
                      "--nproc_per_node={nproc}",
                      "--master_port={port}",
                      client("torch_train.py"),
                      "--batch={batch}"};
  workload.log_reader = "torch";
  workload.starter = OCRTUNE_BINARY;
  workload.knobs = {"nproc", "batch", "threads", "binding"};
  const CpuSet own = current_affinity();
  Knobs knobs;
  knobs.batch = 4;
  for (const int nproc : {1, 2}) {
    knobs.nproc = nproc;
    const Trial trial = run(workload, knobs);
    ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason << "\n" << trial.log_tail;
    EXPECT_GT(trial.samples_per_second, 0);
    EXPECT_EQ(split(trial.placement, ' ').size(), static_cast<std::size_t>(nproc));
    EXPECT_THAT(trial.placement, HasSubstr("0:" + own.text()));  // unbound
  }
  if (own.count() < 2) GTEST_SKIP() << "needs two CPUs to bind two ranks";
  knobs.binding = "compact";
  const Trial bound = run(workload, knobs);
  ASSERT_EQ(bound.outcome, Outcome::ok) << bound.reason << "\n" << bound.log_tail;
  const auto cpus = own.cpus();
  EXPECT_EQ(bound.placement, "0:" + std::to_string(cpus[0]) + " 1:" + std::to_string(cpus[1]));
}

// Whole tunes as a user types them. A longer budget than this one is for bench/RESULTS.md.
class SlowClientTunes : public testing::TestWithParam<const char*> {};

TEST_P(SlowClientTunes, FindABetterSettingAndLeaveNothing) {
  ProcessOptions options;
  options.arguments = {"python3",
                       std::string(OCRTUNE_SOURCE_DIR) + "/bench/clients/tune_client.py",
                       GetParam(),
                       "--budget",
                       "75s",
                       "--ocrtune",
                       OCRTUNE_BINARY,
                       "--folder",
                       parent_path(OCRTUNE_BINARY) + "/clients"};
  auto process = Process::start(options);
  ASSERT_TRUE(process.ok());
  const auto exit = process->wait(1400);
  ASSERT_TRUE(exit.has_value());
  if (exit->code == 77) GTEST_SKIP() << process->output().tail(3);
  EXPECT_TRUE(exit->clean()) << process->output().tail(20);
  EXPECT_THAT(process->output().contents(), HasSubstr("nothing left behind"));
}

INSTANTIATE_TEST_SUITE_P(Clients, SlowClientTunes, testing::Values("paddle", "torch", "burn"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace ocrtune
