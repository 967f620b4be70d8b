#include <gtest/gtest.h>

#include "trial/observe/gpu_places.h"

namespace ocrtune {
namespace {

GpuReport report_of(int busy_percent) {
  GpuReport report;
  report.answered = true;
  GpuFacts gpu;
  gpu.index = 0;
  gpu.memory_bytes = 24ULL << 30;
  gpu.memory_used_bytes = 2ULL << 30;
  gpu.busy_percent = busy_percent;
  gpu.pids = {10};
  report.gpus = {gpu};
  return report;
}

// A reading is of a second at most: two of them may both have met a pause.
TEST(GpuUse, ThreeReadingsAreAShare) {
  std::map<int, GpuUse> use;
  for (const int percent : {20, 40}) note_gpu_use(report_of(0), report_of(percent), {10}, use);
  ASSERT_EQ(gpu_shares(use).size(), 1u);
  EXPECT_LT(gpu_shares(use)[0].busy_share, 0);
  note_gpu_use(report_of(0), report_of(-1), {10}, use);  // the driver does not tell
  EXPECT_LT(gpu_shares(use)[0].busy_share, 0);
  note_gpu_use(report_of(0), report_of(30), {10}, use);
  EXPECT_DOUBLE_EQ(gpu_shares(use)[0].busy_share, 0.3);
  EXPECT_TRUE(gpu_shares(use)[0].worked);
}

}  // namespace
}  // namespace ocrtune
