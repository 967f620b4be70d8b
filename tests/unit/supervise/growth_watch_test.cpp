#include "extras/supervise/growth_watch.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

constexpr double kMegabyte = 1048576;

// The warnings at the end of `seconds`, looked at once a second.
template <typename Fill>
std::vector<GrowthWatch::Warning> watched(double seconds, const Fill& fill) {
  GrowthWatch watch(std::uint64_t{8} << 30, 24 * 3600);
  std::vector<GrowthWatch::Warning> last;
  for (double now = 0; now < seconds; now += 1) {
    AttemptStatus status;
    status.seconds = now;
    status.first_progress_seconds = 2;
    status.bytes = 1 << 30;
    fill(status);
    last = watch.look(status);
  }
  return last;
}

TEST(GrowthWatch, WarnsHoursAheadOfMemoryWithinAFifth) {
  for (const double rate : {0.1, 0.5, 1.0, 5.0}) {
    const auto warnings = watched(900, [&](AttemptStatus& status) {
      status.bytes += static_cast<std::uint64_t>(rate * kMegabyte * status.seconds);
    });
    ASSERT_EQ(warnings.size(), 1u) << rate;
    const double truth = 7.0 * 1024 / rate - 900;
    EXPECT_NEAR(warnings[0].seconds_left, truth, 0.2 * truth) << rate;
    EXPECT_THAT(warnings[0].words, HasSubstr("memory grows by"));
  }
}

TEST(GrowthWatch, TheMachineOfTheRunMayBeTheSmallerLimit) {
  const auto seconds_left = [](std::uint64_t available) {
    const auto warnings = watched(900, [&](AttemptStatus& status) {
      status.bytes += static_cast<std::uint64_t>(kMegabyte * status.seconds);
      status.available_bytes = available;
    });
    return warnings.empty() ? -1.0 : warnings[0].seconds_left;
  };
  EXPECT_NEAR(seconds_left(std::uint64_t{1} << 30), 1024, 0.2 * 1024);
  EXPECT_NEAR(seconds_left(std::uint64_t{64} << 30), 7.0 * 1024 - 900, 0.2 * 6268);
}

TEST(GrowthWatch, IsSilentOnASawtooth) {
  EXPECT_TRUE(watched(900, [](AttemptStatus& status) {
                const auto tooth = static_cast<std::uint64_t>(status.seconds) % 37;
                status.bytes += tooth * (8 << 20);
              }).empty());
}

// Whether any second of the run brought a warning.
template <typename Bytes>
bool ever_warned(double seconds, double first_progress, const Bytes& megabytes) {
  GrowthWatch watch(std::uint64_t{8} << 30, 24 * 3600);
  for (double now = 0; now < seconds; now += 1) {
    AttemptStatus status;
    status.seconds = now;
    status.first_progress_seconds = now < first_progress ? -1 : first_progress;
    status.bytes = static_cast<std::uint64_t>(kMegabyte * megabytes(now));
    if (!watch.look(status).empty()) return true;
  }
  return false;
}

TEST(GrowthWatch, AStartIsNoGrowth) {
  const auto ramp = [](double until, double rate) {
    return [=](double now) { return 500 + rate * std::min(now, until); };
  };
  EXPECT_FALSE(ever_warned(600, 2, ramp(17, 60)));
  EXPECT_FALSE(ever_warned(600, 30, ramp(55, 40))) << "loaders fill their queues after a step";
  EXPECT_FALSE(ever_warned(600, -1, ramp(25, 100))) << "a program that reports no steps";
  EXPECT_FALSE(ever_warned(70, 2, ramp(1000, 3))) << "not watched for long enough";
  EXPECT_TRUE(ever_warned(200, 2, ramp(1000, 3)));
}

TEST(GrowthWatch, ARampThatEndedIsNoWarning) {
  const auto ended = watched(600, [](AttemptStatus& status) {
    status.bytes += static_cast<std::uint64_t>(2 * kMegabyte * std::min(status.seconds, 330.0));
  });
  EXPECT_TRUE(ended.empty());
}

TEST(GrowthWatch, SeesFilesAndSharedMemoryAndTheGpu) {
  const auto warnings = watched(300, [](AttemptStatus& status) {
    const auto seconds = static_cast<std::int64_t>(status.seconds);
    status.open_files = 50 + seconds / 2;
    status.open_files_limit = 1024;
    status.shm_bytes = static_cast<std::uint64_t>(seconds) << 20;
    status.shm_limit_bytes = std::uint64_t{1} << 30;
    status.gpu_bytes = (std::uint64_t{10} << 30) + (static_cast<std::uint64_t>(seconds) << 21);
    status.gpu_limit_bytes = std::uint64_t{24} << 30;
  });
  std::vector<std::string> subjects;
  for (const auto& warning : warnings) subjects.push_back(warning.subject);
  EXPECT_THAT(subjects,
              testing::UnorderedElementsAre("number of open files", "/dev/shm", "GPU memory"));
  EXPECT_EQ(subjects.front(), "/dev/shm");  // meets its limit first
}

}  // namespace
}  // namespace ocrtune
