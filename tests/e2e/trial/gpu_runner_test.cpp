// Trials on GPUs that are not there: the processes are real, their CUDA is not.
#include "trial/workloads/engine_train/gpu_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/this_machine.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

Knobs ranks(int nproc) {
  Knobs knobs;
  knobs.nproc = nproc;
  knobs.batch = 8;
  knobs.backend = "cuda";
  return knobs;
}

TrialLimits quick_limits() {
  TrialLimits limits;
  limits.measure_seconds = 0.2;
  limits.max_seconds = 30;
  return limits;
}

Trial run_on_gpus(const std::string& mode, const Knobs& knobs,
                  std::vector<std::string> gpus = {"GPU-aaaa-0", "GPU-bbbb-1"}) {
  GpuRunnerOptions options;
  options.gpus = std::move(gpus);
  options.worker_command = {OCRTUNE_FAKE_WORKER, mode};
  if (starts_with(mode, "hang") || mode == "mute") {
    options.silence.min_seconds = options.silence.start_seconds = 0.4;
  }
  options.stop_grace_seconds = 0.2;
  return make_gpu_runner(TrainingWorkload(), this_machine(), options)->run(knobs, quick_limits());
}

TEST(GpusOfATrial, EachRankGetsItsOwnAndProvesIt) {
  const Trial trial = run_on_gpus("good", ranks(2));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  EXPECT_THAT(trial.placement, HasSubstr("@GPU-aaaa-0 1:"));
  EXPECT_THAT(trial.placement, HasSubstr("@GPU-bbbb-1"));
  EXPECT_GT(trial.samples_per_second, 0);
  EXPECT_THAT(trial.reproduce, HasSubstr("backend=cuda"));
  EXPECT_THAT(trial.reproduce, HasSubstr("--gpus GPU-aaaa-0,GPU-bbbb-1"));
}

TEST(GpusOfATrial, MemoryIsTheFullestRanks) {
  const Trial trial = run_on_gpus("good", ranks(2));
  ASSERT_TRUE(trial.ok()) << trial.reason;
  EXPECT_EQ(trial.peak_bytes, std::uint64_t{1001} << 20);  // the fake's 1000 MiB and its rank
  EXPECT_THAT(join(trial.evidence, "\n"), HasSubstr("on the fullest GPU (NVML)"));
  for (const MemoryPoint& point : trial.memory_trace) EXPECT_GE(point.bytes, 1000u << 20);
}

TEST(GpusOfATrial, MoreRanksThanGpusAreRefusedUnstarted) {
  const Trial three = run_on_gpus("good", ranks(3));
  EXPECT_EQ(three.outcome, Outcome::unsupported);
  EXPECT_EQ(three.cause, "gpus");
  EXPECT_EQ(three.reason, "3 ranks on 2 GPUs: each rank takes one for itself");
  EXPECT_EQ(three.seconds, 0);
  EXPECT_THAT(run_on_gpus("good", ranks(1), {}).reason, HasSubstr("no GPU was named"));
  EXPECT_THAT(run_on_gpus("good", ranks(2), {"GPU-aaaa-0", "GPU-aaaa-0"}).reason,
              HasSubstr("named twice"));
}

// A driver or a scheduler that hands out another device than was asked for.
TEST(GpusOfATrial, AnotherGpuThanMeantEndsTheTrial) {
  const Trial trial = run_on_gpus("wrong-gpu@1", ranks(2));
  EXPECT_EQ(trial.outcome, Outcome::unsupported);
  EXPECT_EQ(trial.reason, "rank 1 computes on GPU-aaaa-0 instead of GPU-bbbb-1");
  const Trial none = run_on_gpus("no-gpu@0", ranks(1));
  EXPECT_EQ(none.reason, "rank 0 computes on no GPU instead of GPU-aaaa-0");
}

TEST(GpusOfATrial, FailuresKeepTheirCauses) {
  const Trial full = run_on_gpus("gpu-memory", ranks(1));
  EXPECT_EQ(full.outcome, Outcome::out_of_memory);
  EXPECT_EQ(full.cause, "gpu");
  EXPECT_THAT(full.reason, HasSubstr("the GPU has"));
  const Trial nccl = run_on_gpus("no-nccl", ranks(2));
  EXPECT_EQ(nccl.outcome, Outcome::unsupported);
  EXPECT_THAT(nccl.reason, HasSubstr("libnccl.so.2"));
  const Trial dead = run_on_gpus("segv@1", ranks(2));
  EXPECT_EQ(dead.outcome, Outcome::crashed);
  EXPECT_THAT(dead.reason, HasSubstr("rank 1"));
  const Trial hung = run_on_gpus("hang@0", ranks(2));
  EXPECT_EQ(hung.outcome, Outcome::hung) << hung.reason;
  EXPECT_EQ(run_on_gpus("mute", ranks(1)).outcome, Outcome::hung);
}

TEST(GpusOfATrial, AWorkerThatIsMissingIsAnOutcome) {
  GpuRunnerOptions options;
  options.gpus = {"GPU-aaaa-0"};
  options.worker_command = {"/no/such/worker"};
  const Trial trial =
      make_gpu_runner(TrainingWorkload(), this_machine(), options)->run(ranks(1), quick_limits());
  EXPECT_FALSE(trial.ok());
  EXPECT_THAT(trial.reason, HasSubstr("/no/such/worker"));
}

}  // namespace
}  // namespace ocrtune
