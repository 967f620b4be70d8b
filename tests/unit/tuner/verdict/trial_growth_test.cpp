#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {
namespace {

constexpr double kMegabyte = 1048576;

// Ten readings a second for `seconds`, with the jitter of an estimate.
Trial traced(double seconds, const std::function<double(double)>& megabytes) {
  Random random(5);
  Trial trial;
  trial.outcome = Outcome::ok;
  for (double now = 0; now < seconds; now += 0.1) {
    const double bytes = kMegabyte * (megabytes(now) + 0.02 * random.normal());
    trial.memory_trace.push_back({now, static_cast<std::uint64_t>(bytes)});
  }
  return trial;
}

TEST(TrialGrowth, SeesALeakAndSaysHowLongItLasts) {
  for (const double rate : {0.2, 1.0, 5.0}) {
    const Trial trial = traced(8, [&](double now) { return 200 + rate * now; });
    const MemoryGrowth growth = memory_growth(trial);
    EXPECT_TRUE(growth.certain) << rate;
    EXPECT_NEAR(growth.bytes_per_second, rate * kMegabyte, 0.05 * rate * kMegabyte);
    const double left = (1024 - 200 - 8 * rate) / rate;
    EXPECT_NEAR(forecast_trial(growth, 1 << 30).seconds_left, left, 0.06 * left) << rate;
  }
}

TEST(TrialGrowth, IsSilentOnWhatEndsAndWhatReturns) {
  const auto silent = [](double seconds, const std::function<double(double)>& megabytes) {
    return !memory_growth(traced(seconds, megabytes)).certain;
  };
  EXPECT_TRUE(silent(8, [](double) { return 200; }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + (now < 2 ? 20 * now : 40); }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + 10 * std::fmod(now, 0.7); }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + (now > 5 ? 8 : 0); }));        // one step
  EXPECT_TRUE(silent(1, [](double now) { return 200 + 5 * now; }));                  // too short
  EXPECT_TRUE(silent(5.5, [](double now) { return 200 + 1.6 * now; }));              // a start
  EXPECT_TRUE(silent(12, [](double now) { return 200 + 5 * std::min(now, 9.0); }));  // ended
  EXPECT_EQ(memory_growth(Trial()).watched_seconds, 0);
}

TEST(TrialGrowth, OneTrialOfSeveralIsChance) {
  Trial calm = traced(8, [](double) { return 200; });
  calm.growth = memory_growth(calm);
  Trial leaking = calm;
  leaking.growth = {8, kMegabyte, 0.9 * kMegabyte, 1.1 * kMegabyte, 24 << 20, true};
  EXPECT_TRUE(repeated_growth({calm, leaking, calm}, calm.knobs, 1 << 30).empty());
  EXPECT_EQ(repeated_growth({leaking, leaking, calm}, calm.knobs, 1 << 30),
            reason<ReasonCode::memory_grows_in_trials>(
                counted(2), counted(3), in_bytes(kMegabyte), in_bytes(0.9 * kMegabyte),
                in_bytes(1.1 * kMegabyte), in_seconds(1000)));
}

TEST(TrialGrowth, ASmallRiseInAShortWatchIsOpen) {
  Trial rising;
  rising.outcome = Outcome::ok;
  rising.growth = {60, kMegabyte / 8, kMegabyte / 9, kMegabyte / 7, 64 << 20, true};
  const auto code = [&] {
    return repeated_growth({rising, rising, rising}, rising.knobs, 1 << 30).code;
  };
  EXPECT_EQ(code(), ReasonCode::memory_may_grow_in_trials);
  rising.growth.watched_seconds = 300;
  EXPECT_EQ(code(), ReasonCode::memory_grows_in_trials);
  rising.growth = {60, kMegabyte, kMegabyte, kMegabyte, 128 << 20, true};
  EXPECT_EQ(code(), ReasonCode::memory_grows_in_trials);
}

}  // namespace
}  // namespace ocrtune
