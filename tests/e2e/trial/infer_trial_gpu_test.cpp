// Trials that read on GPUs that are not there: the processes are real, their CUDA is not.
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/this_machine.h"
#include "trial/observe/gpu_names.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FullestGpu, ProcessesOnOneAddUpByTheBooksAlone) {
  const std::vector<std::string> gpus = {"GPU-a", "GPU-b", "GPU-a"};
  const std::map<int, std::uint64_t> bytes = {{0, 500}, {1, 700}, {2, 400}};
  EXPECT_EQ(fullest_gpu_bytes(gpus, bytes, "NVML"), 900u);
  EXPECT_EQ(fullest_gpu_bytes(gpus, bytes, "cudaMemGetInfo"), 700u);
  EXPECT_EQ(fullest_gpu_bytes({}, bytes, "NVML"), 700u) << "each has its own";
  EXPECT_EQ(fullest_gpu_bytes(gpus, {}, "NVML"), 0u);
}

TEST(InferTrialSpec, GpusComeBack) {
  InferTrialSpec spec;
  spec.gpus = {"GPU-a", "GPU-a"};
  spec.start_seconds = 7;
  spec.silence_seconds = 3;
  const auto back = parse_infer_trial_spec(infer_trial_spec_text(spec));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_THAT(back->gpus, ElementsAre("GPU-a", "GPU-a"));
  EXPECT_EQ(back->start_seconds, 7);
  EXPECT_EQ(back->silence_seconds, 3);
}

class ReadingOnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OCRTUNE_GPU_WORKER", OCRTUNE_FAKE_WORKER.c_str(), 1);
    work_.program = OCRTUNE_BINARY;
    work_.width = 64;
    work_.alphabet = "0123456789";
    work_.gpus = {"GPU-aaaa-0", "GPU-bbbb-1"};
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_GPU_WORKER");
    ::unsetenv("OCRTUNE_FAKE_INFER");
  }

  Trial run(int nproc, const std::string& mode = "") {
    ::setenv("OCRTUNE_FAKE_INFER", mode.c_str(), 1);
    work_.start_seconds = mode == "hang-open" ? 2 : 20;
    work_.silence_seconds = starts_with(mode, "hang") ? 2 : 20;
    Knobs knobs;
    knobs.nproc = nproc;
    knobs.batch = 4;
    knobs.backend = "cuda";
    TrialLimits limits;
    limits.measure_seconds = work_.slo.empty() ? 0.3 : 5;
    limits.max_seconds = 60;
    const auto runner = make_infer_runner(work_, this_machine());
    if (!runner) return Trial();
    return (*runner)->run(knobs, limits);
  }

  InferenceWorkload work_;
};

TEST_F(ReadingOnGpus, EachProcessHasItsOwn) {
  const Trial trial = run(2);
  ASSERT_TRUE(trial.ok()) << trial.reason << trial.log_tail;
  EXPECT_GT(trial.samples_per_second, 0);
  EXPECT_THAT(trial.placement, HasSubstr("@GPU-aaaa-0 1:"));
  EXPECT_THAT(trial.placement, HasSubstr("@GPU-bbbb-1"));
  EXPECT_EQ(trial.peak_bytes, std::uint64_t{700} << 20);
  EXPECT_THAT(join(trial.evidence, "\n"), HasSubstr("on the fullest GPU (NVML)"));
  EXPECT_THAT(trial.reproduce,
              HasSubstr("ocrtune infer LINES --device gpu --gpus GPU-aaaa-0,GPU-bbbb-1 --nproc 2"));
  EXPECT_THAT(trial.reproduce, Not(HasSubstr("--share-gpus")));
  EXPECT_THAT(trial.reproduce, Not(HasSubstr("--backend")));
}

TEST_F(ReadingOnGpus, TwoOnOneGpuAddUp) {
  work_.gpus = {"GPU-aaaa-0"};
  const Trial trial = run(2);
  ASSERT_TRUE(trial.ok()) << trial.reason << trial.log_tail;
  EXPECT_EQ(trial.peak_bytes, std::uint64_t{1400} << 20);
  EXPECT_THAT(trial.reproduce, HasSubstr("--gpus GPU-aaaa-0 --share-gpus --nproc 2"));
  EXPECT_THAT(run(1).reproduce, Not(HasSubstr("--share-gpus")));
}

TEST_F(ReadingOnGpus, AHungWorkerIsCutAndNamed) {
  const Trial later = run(2, "hang:GPU-bbbb-1");
  EXPECT_EQ(later.outcome, Outcome::hung) << later.reason;
  EXPECT_EQ(later.reason, "worker 1 on GPU-bbbb-1 was silent for 2 s");
  const Trial at_once = run(1, "hang-open");
  EXPECT_EQ(at_once.outcome, Outcome::hung) << at_once.reason;
  EXPECT_EQ(at_once.reason, "worker 0 on GPU-aaaa-0 was silent for 2 s before it was ready");
}

TEST_F(ReadingOnGpus, AHungWorkerUnderAnSloIsCutAsWell) {
  work_.slo = "p90=40ms";
  const Trial later = run(2, "hang:GPU-bbbb-1");
  EXPECT_EQ(later.outcome, Outcome::hung) << later.reason;
  EXPECT_EQ(later.reason, "worker 1 on GPU-bbbb-1 was silent for 2 s");
  const Trial at_once = run(1, "hang-open");
  EXPECT_EQ(at_once.outcome, Outcome::hung) << at_once.reason;
}

TEST_F(ReadingOnGpus, AnSloIsMeasuredWithItsMemory) {
  work_.slo = "p90=40ms";
  work_.gpus = {"GPU-aaaa-0"};
  Trial trial = run(2);
  // A busy machine may prove no rate in so short a time.
  for (int i = 0; i < 3 && !trial.ok(); ++i) trial = run(2);
  if (!trial.ok()) {
    EXPECT_EQ(trial.outcome, Outcome::timed_out) << trial.reason << trial.log_tail;
    GTEST_SKIP() << "too busy a machine to prove a rate: " << trial.reason;
  }
  EXPECT_EQ(trial.peak_bytes, std::uint64_t{1400} << 20);
  EXPECT_THAT(trial.placement, HasSubstr("@GPU-aaaa-0"));
}

// A driver or a scheduler that hands out another device than was asked for.
TEST_F(ReadingOnGpus, AnotherGpuThanMeantEndsTheTrial) {
  const Trial trial = run(2, "first");
  EXPECT_EQ(trial.outcome, Outcome::unsupported);
  EXPECT_EQ(trial.reason, "rank 1 computes on GPU-aaaa-0 instead of GPU-bbbb-1");
}

TEST_F(ReadingOnGpus, FailuresKeepTheirCauses) {
  const Trial full = run(1, "memory");
  EXPECT_EQ(full.outcome, Outcome::out_of_memory);
  EXPECT_EQ(full.cause, "gpu");
  EXPECT_THAT(full.reason, HasSubstr("the GPU has"));
  const Trial wrong = run(1, "wrong");
  EXPECT_EQ(wrong.outcome, Outcome::wrong_result);
  EXPECT_THAT(wrong.reason, HasSubstr("cuda fp32 differs from the reference"));
  const Trial none = run(1, "no-device");
  EXPECT_EQ(none.outcome, Outcome::unsupported);
  EXPECT_THAT(none.reason, HasSubstr("no GPU"));
  const Trial dead = run(1, "segv");
  EXPECT_EQ(dead.outcome, Outcome::crashed);
  EXPECT_THAT(dead.reason, HasSubstr("SIGSEGV"));
}

}  // namespace
}  // namespace ocrtune
