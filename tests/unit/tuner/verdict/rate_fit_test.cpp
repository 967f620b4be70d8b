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
