// A run whose GPU fills up: what the driver says, through the real GPU worker and a stand-in
// driver, to the warning hours ahead.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "extras/supervise/gpu_memory_watch.h"
#include "extras/supervise/growth_watch.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSize = 24576 * kMiB;

class GpuGrowth : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("gpu").value();
    box_ = join_path(folder_, "box.txt");
    ::setenv("OCRTUNE_NVML_PATH", OCRTUNE_NVML_STUB_LIBRARY.c_str(), 1);
    ::setenv("OCRTUNE_NVML_STUB", box_.c_str(), 1);
    const std::string worker = parent_path(OCRTUNE_BINARY) + "/ocrtune-gpu-worker";
    ::setenv("OCRTUNE_GPU_WORKER", worker.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"OCRTUNE_NVML_PATH", "OCRTUNE_NVML_STUB", "OCRTUNE_GPU_WORKER"}) {
      ::unsetenv(name);
    }
    EXPECT_TRUE(remove_tree(folder_).ok());
  }

  // Two cards; the second holds so much.
  void fill(std::uint64_t used_bytes) {
    ASSERT_TRUE(write_file(box_,
                           "driver 535.104.05\ncuda 12020\n"
                           "gpu name=A uuid=GPU-0 memory=25769803776 used=1048576\n"
                           "gpu name=A uuid=GPU-1 memory=25769803776 used=" +
                               std::to_string(used_bytes) + "\n")
                    .ok());
  }

  // Looks until the answer to a question asked at `now` is there.
  void ask(GpuMemoryWatch& watch, double now, std::uint64_t expected) {
    for (int turn = 0; turn < 1500; ++turn) {
      static_cast<void>(watch.look(now, 20));
      if (watch.fullest() && watch.fullest()->used_bytes == expected) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::string folder_, box_;
};

TEST_F(GpuGrowth, IsSeenThroughTheDriverAndWarnedOf) {
  GpuMemoryWatch gpu;
  GrowthWatch growth(8192 * kMiB, 24 * 3600);
  std::vector<GrowthWatch::Warning> warnings;
  for (int now = 0; now < 300; now += 20) {
    const std::uint64_t used = 8192 * kMiB + static_cast<std::uint64_t>(now) * 2 * kMiB;
    fill(used);
    ask(gpu, now, used);
    ASSERT_TRUE(gpu.fullest()) << now;
    ASSERT_EQ(gpu.fullest()->index, 1);
    ASSERT_EQ(gpu.fullest()->used_bytes, used);
    ASSERT_EQ(gpu.fullest()->size_bytes, kSize);
    AttemptStatus status;
    status.first_progress_seconds = 2;
    status.bytes = 1024 * kMiB;
    status.gpu_bytes = gpu.fullest()->used_bytes;
    status.gpu_limit_bytes = gpu.fullest()->size_bytes;
    for (int second = now; second < now + 20; ++second) {
      status.seconds = second;
      warnings = growth.look(status);
    }
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].subject, "GPU memory");
  const double truth = static_cast<double>(kSize - gpu.peak_bytes()) / (2.0 * kMiB);
  EXPECT_NEAR(warnings[0].seconds_left, truth, 0.2 * truth);
  fill(4096 * kMiB);
  ask(gpu, 300, 4096 * kMiB);
  EXPECT_EQ(gpu.fullest()->used_bytes, 4096 * kMiB);
  EXPECT_EQ(gpu.peak_bytes(), 8192 * kMiB + 280 * 2 * kMiB);  // the peak stays
}

TEST_F(GpuGrowth, WithoutADriverNothingIsAskedAgain) {
  GpuMemoryWatch watch;
  ::setenv("OCRTUNE_NVML_PATH", (folder_ + "/none.so").c_str(), 1);
  for (int turn = 0; turn < 100; ++turn) {
    static_cast<void>(watch.look(turn * 30.0, 20));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(watch.fullest());
  EXPECT_EQ(watch.peak_bytes(), 0U);
}

}  // namespace
}  // namespace ocrtune
