#include "tuner/verdict/rate_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

constexpr double kNoise = 0.01;

double true_rate(std::size_t setting) { return 100 + 10 * static_cast<double>(setting); }

// Settings side by side in rounds, of which one trial was slowed by that much.
std::vector<RateObservation> raced(std::size_t settings, int rounds, double slowed,
                                   Random& random) {
  std::vector<RateObservation> seen;
  for (int round = 1; round <= rounds; ++round) {
    const double machine = kNoise * random.normal();  // meets all of a round
    for (std::size_t setting = 0; setting < settings; ++setting) {
      seen.push_back(
          {setting, round, std::log(true_rate(setting)) + machine + kNoise * random.normal()});
    }
  }
  const auto last = static_cast<std::int64_t>(seen.size()) - 1;
  seen[static_cast<std::size_t>(random.integer(0, last))].log_rate -= slowed;
  return seen;
}

// Of 200 races, rates that are more than 2 % off.
int rates_off(int rounds, double slowed) {
  constexpr std::size_t kSettings = 3;
  int off = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const RateFit fit(raced(kSettings, rounds, slowed, random), kSettings, kNoise);
    for (std::size_t setting = 0; setting < kSettings; ++setting) {
      if (std::abs(fit.rate(setting).median / true_rate(setting) - 1) > 0.02) ++off;
    }
  }
  return off;
}

TEST(RateFit, ATrialThatOtherLoadSlowedIsNotTakenForItsRound) {
  EXPECT_LE(rates_off(4, 0.5), rates_off(4, 0) + 12) << "of 600";
  EXPECT_LE(rates_off(3, 0.5), rates_off(3, 0) + 18) << "of 600";
}

// All of a round slowed alike are the round's, and no rival's gain.
TEST(RateFit, ARoundThatIsSlowAsAWholeChangesNoRatio) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<RateObservation> seen = raced(2, 4, 0, random);
    for (RateObservation& one : seen) one.log_rate -= one.round == 2 ? 0.5 : 0;
    const Interval ratio = RateFit(seen, 2, kNoise).ratio(1, 0);
    EXPECT_NEAR(ratio.median, 1.1, 0.04) << seed;
  }
}

// As measured of ONNX Runtime on two CPUs that were one core for minutes at a time: two threads at
// twice the rate of one or at the same, in three rounds and in many trials beside them.
TEST(RateFit, AFewRoundsOfManyTrialsDoNotSayHowWideARatioIs) {
  std::vector<RateObservation> seen;
  const auto add = [&seen](std::size_t setting, int round, double rate) {
    seen.push_back({.setting = setting, .round = round, .log_rate = std::log(rate)});
  };
  for (const double rate : {40.3, 47.0, 41.3, 41.1, 44.0, 47.4, 47.5, 47.6}) add(0, 0, rate);
  for (const double rate : {79.9, 48.5, 65.8, 63.8, 41.1, 40.4, 78.2, 79.9, 77.0, 65.5, 61.8}) {
    add(1, 0, rate);
  }
  const double rounds[][2] = {{39.8, 78.8}, {48.0, 39.6}, {40.8, 83.0}};
  for (int i = 0; i < 3; ++i) {
    add(0, i + 1, rounds[i][0]);
    add(1, i + 1, rounds[i][1]);
  }
  const Interval ratio = RateFit(seen, 2, 0.21).ratio(1, 0);
  EXPECT_NEAR(ratio.median, 1.47, 0.08);
  EXPECT_GT(ratio.low, 1.1);
  EXPECT_LT(ratio.high, 2);
  std::erase_if(seen, [](const RateObservation& one) { return one.round == 0; });
  EXPECT_LT(RateFit(seen, 2, 0.21).ratio(1, 0).low, 1) << "three rounds alone";
}

// Two trials of each, one of them in a round: which of two that are far apart was slowed cannot be
// known, and a ratio that rests on one of them alone is no evidence.
TEST(RateFit, OfTwoTrialsThatAreFarApartEitherMayBeSlowed) {
  constexpr std::size_t kSettings = 3;
  int held = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<RateObservation> seen = raced(kSettings, 2, 0.4, random);
    for (RateObservation& one : seen) one.round -= 1;  // the first ones ran by themselves
    const RateFit fit(seen, kSettings, kNoise);
    for (std::size_t setting = 1; setting < kSettings; ++setting) {
      const Interval ratio = fit.ratio(setting, 0);
      const double right = true_rate(setting) / true_rate(0);
      held += ratio.low <= right && right <= ratio.high ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(held, 0.93 * all) << held << " of " << all;
}

}  // namespace
}  // namespace ocrtune
