#include <cmath>
#include <functional>

#include <gmock/gmock.h>
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
    EXPECT_THAT(trial_growth(trial, 1 << 30), testing::HasSubstr("memory grows by ")) << rate;
  }
}

TEST(TrialGrowth, IsSilentOnWhatEndsAndWhatReturns) {
  const auto silent = [](double seconds, const std::function<double(double)>& megabytes) {
    return trial_growth(traced(seconds, megabytes), 1 << 30).empty();
  };
  EXPECT_TRUE(silent(8, [](double) { return 200; }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + (now < 2 ? 20 * now : 40); }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + 10 * std::fmod(now, 0.7); }));
  EXPECT_TRUE(silent(8, [](double now) { return 200 + (now > 5 ? 8 : 0); }));        // one step
  EXPECT_TRUE(silent(1, [](double now) { return 200 + 5 * now; }));                  // too short
  EXPECT_TRUE(silent(5.5, [](double now) { return 200 + 1.6 * now; }));              // a start
  EXPECT_TRUE(silent(12, [](double now) { return 200 + 5 * std::min(now, 9.0); }));  // ended
  EXPECT_TRUE(trial_growth(Trial(), 1 << 30).empty());
}

TEST(TrialGrowth, OneTrialOfSeveralIsChance) {
  Trial calm = traced(8, [](double) { return 200; });
  Trial leaking = calm;
  leaking.evidence = {"memory grows by 1 MiB/s (0.9 MiB .. 1.1 MiB): the limit is met in 5 h"};
  EXPECT_TRUE(repeated_growth({calm, leaking, calm}, calm.knobs).empty());
  EXPECT_EQ(repeated_growth({leaking, leaking, calm}, calm.knobs),
            reason<ReasonCode::memory_grows_in_trials>(counted(2), counted(3),
                                                       verbatim(leaking.evidence[0])));
}

}  // namespace
}  // namespace ocrtune
