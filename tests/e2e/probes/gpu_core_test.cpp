// The CUDA steps on a real GPU; skipped with the step's own reason where there is none.
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/p2p/steps/gpu_step.h"

namespace ocrtune {
namespace {

GpuStepResult run(const std::string& kind, std::vector<std::string> options, int ranks = 1) {
  GpuStep step;
  step.kind = kind;
  step.ranks = ranks;
  step.options = std::move(options);
  step.deadline_seconds = 300;
  GpuStepPlace place;
  place.worker = join_path(parent_path(OCRTUNE_BINARY), "ocrtune-gpu-worker");
  place.environment = process_environment();
  return run_gpu_step(step, place);
}

// Every model and precision agrees with the reference; a step is timed and its memory is as
// planned.
TEST(GpuCore, AgreesWithTheReference) {
  for (const char* model : {"crnn", "crnn-mv3", "ppocr-mobile", "svtrv2-small"}) {
    for (const char* precision : {"fp32", "tf32", "bf16"}) {
      const GpuStepResult result = run("core", {std::string("--model=") + model, "--steps=5",
                                                std::string("--precision=") + precision});
      if (result.result == StepResult::not_run) GTEST_SKIP() << result.detail;
      ASSERT_EQ(result.result, StepResult::passed)
          << model << " " << precision << ": " << result.detail;
      for (const GpuFinding& finding : result.findings) {
        if (finding.what != "core") continue;
        EXPECT_GT(finding.figure("samples_per_second"), 0);
        EXPECT_GT(finding.figure("read_samples_per_second"), 0);
        EXPECT_LT(finding.figure("used_bytes"), 1.5 * finding.figure("footprint_bytes") + 5e8);
        EXPECT_EQ(finding.word("graphs"), "replayed") << finding.detail;
      }
    }
  }
}

// Without CUDA graphs the same numbers: nothing that is captured depends on the host.
TEST(GpuCore, IsRightWithoutGraphs) {
  const GpuStepResult result = run("core", {"--model=ppocr-mobile", "--steps=5", "--graphs=off"});
  if (result.result == StepResult::not_run) GTEST_SKIP() << result.detail;
  EXPECT_EQ(result.result, StepResult::passed) << result.detail;
}

// The world of one rank always works: init, exact collectives, close.
TEST(GpuNccl, OneRankIsExact) {
  const GpuStepResult result = run("nccl", {"--check_bytes=16777216"});
  if (run("devices", {}).result == StepResult::not_run) GTEST_SKIP() << "no GPU";
  EXPECT_EQ(result.result, StepResult::passed) << result.detail;
}

// What this machine cannot do is said, whichever it is.
TEST(CudaWorker, EveryKindEndsWithAnAnswer) {
  for (const char* kind : {"devices", "copy", "handshake", "nccl", "core", "no-such-step"}) {
    const GpuStepResult result = run(kind, {});
    EXPECT_TRUE(result.result == StepResult::passed || !result.detail.empty()) << kind;
    EXPECT_FALSE(result.stuck) << kind;
    EXPECT_FALSE(result.findings.empty()) << kind << ": " << result.detail;
  }
}

}  // namespace
}  // namespace ocrtune
