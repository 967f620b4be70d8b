#include "tuner/verdict/recommend.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/told_trials.h"
#include "tuner/verdict/possible.h"
#include "tuner/verdict/why_not.h"

namespace ocrtune {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;

TEST_F(Recommend, ChoosesTheFastestAndPricesTheBaseline) {
  options_.baseline = setting(1);
  options_.expected_noise = 0.01;
  trials_.push_back(ran(setting(1), 50, 1, "baseline"));
  race(setting(2), 90, 2);
  race(setting(4), 120, 4);
  trials_.push_back(failed(setting(8), Outcome::out_of_memory, "71 GiB of 64 GiB"));
  trials_.push_back(ran(setting(7), 60, 6, "rule"));
  const TuneResult found = result();
  ASSERT_TRUE(found.found);
  EXPECT_EQ(found.recommendation.knobs, setting(4));
  EXPECT_NEAR(found.recommendation.samples_per_second.median, 120, 1);
  EXPECT_LT(found.recommendation.samples_per_second.low, 120);
  EXPECT_NEAR(found.gain.median, 2.4, 0.1);
  EXPECT_GT(found.gain.low, 2);
  EXPECT_EQ(found.ties.size(), 1U);
  EXPECT_EQ(found.outcomes.at("out_of_memory"), 1);
  EXPECT_EQ(found.trials, 11);
  EXPECT_GE(found.certified_gap, 0);
  bool named = false;
  for (const Neighbour& neighbour : found.rejected) {
    if (!(neighbour.knobs == setting(2))) continue;
    named = true;
    EXPECT_EQ(neighbour.reason.code, ReasonCode::slower);
    EXPECT_NEAR(neighbour.reason.number(0), 25, 0.5);
  }
  EXPECT_TRUE(named);
}

// The answer, its table and its gain are read off one fit.
TEST_F(Recommend, OneSettingHasOneFigure) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 55, 1, "baseline"));
  race(setting(1), 50, 1);
  trials_.push_back(ran(setting(4), 150, 4, "model"));
  race(setting(4), 120, 4);
  const TuneResult found = result();
  ASSERT_TRUE(found.found);
  ASSERT_EQ(found.recommendation.knobs, setting(4));
  for (const SettingSummary& summary : found.settings) {
    const Interval& told = summary.knobs == setting(4) ? found.recommendation.samples_per_second
                                                       : found.baseline.samples_per_second;
    EXPECT_DOUBLE_EQ(summary.samples_per_second.median, told.median);
    EXPECT_DOUBLE_EQ(summary.samples_per_second.low, told.low);
    EXPECT_DOUBLE_EQ(summary.samples_per_second.high, told.high);
  }
  EXPECT_EQ(found.settings.size(), 2U);
  EXPECT_NEAR(
      found.gain.median,
      found.recommendation.samples_per_second.median / found.baseline.samples_per_second.median,
      1e-9);
}

TEST_F(Recommend, TheStartStaysWhereNothingIsClearlyFaster) {
  options_.baseline = setting(1);
  options_.expected_noise = 0.05;
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  race(setting(2), 104, 6);
  race(setting(4), 80, 4);
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(1));
  EXPECT_EQ(found.gain.median, 1);
  ASSERT_TRUE(found.contender.has_value());
  EXPECT_EQ(found.contender->first, setting(2));
  EXPECT_LT(found.contender->second.low, 1);
  EXPECT_NEAR(found.contender->second.median, 1.04, 0.02);
}

// What strangers hide may be much: then the start is no answer either.
TEST_F(Recommend, AStartThatMayBeFarBehindIsInconclusive) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  race(setting(2), 130, 2, 2);
  for (Trial& trial : trials_) {
    trial.samples[0].interference.spoilt_by = "swapped";
  }
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(1));
  EXPECT_EQ(found.ties.size(), 1U);
  EXPECT_EQ(found.inconclusive.code, ReasonCode::rival_may_be_faster);
}

Trial beside_stranger(Trial trial) {
  Sample& sample = trial.samples[0];
  sample.interference.observed_seconds = 1;
  sample.interference.cpu_seconds = 0.9;
  sample.interference.available_cpus = 4;
  sample.interference.external_cpus = 1;
  sample.interference.spoilt_by = "other processes used 1.00 CPUs";
  return trial;
}

// The search goes on with them in turns until they are an answer, and no longer.
TEST_F(Recommend, WhatLacksTurnsIsRunInTurns) {
  options_.baseline = setting(1);
  for (const Trial& trial :
       {ran(setting(1), 100, 1, "baseline"), ran(setting(2), 190, 2), ran(setting(2), 191, 2)}) {
    trials_.push_back(beside_stranger(trial));
  }
  std::vector<int> turns;
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(result().inconclusive.empty(), i == 2);
    const auto open = open_question(space_, *search_, trials_, options_);
    if (!open || !open->turn) break;
    turns.push_back(open->turn->nproc);
    EXPECT_EQ(open->chosen, setting(2));
    EXPECT_EQ(open->rival, setting(1));
    trials_.push_back(beside_stranger(ran(*open->turn, open->turn->nproc == 1 ? 101 : 189, 2)));
  }
  EXPECT_THAT(turns, ::testing::ElementsAre(1, 2));
  const TuneResult found = result();
  EXPECT_TRUE(found.verdict.beside_load);
  EXPECT_EQ(found.settings[0].clean_samples, 0) << "of the trials, not of what was made of them";
  EXPECT_EQ(found.settings[0].discarded_samples, found.settings[0].trials);
}

// Other recipes are no rivals: a space with one setting of the kept one holds one possible answer.
TEST_F(Recommend, TheOnlySettingOfItsRecipeIsKeptBesideAnyLoad) {
  space_ = Space({setting(1, 8), setting(1, 16), setting(1, 64)});
  options_.baseline = setting(1, 8);
  options_.recipe_batch = 8;
  for (int round = 0; round < 3; ++round) {
    for (const auto& [batch, rate] : {std::pair(8, 100.0), {16, 140.0}, {64, 200.0}}) {
      trials_.push_back(beside_stranger(ran(setting(1, batch), rate + round, 1)));
    }
  }
  const TuneResult found = result();
  EXPECT_EQ(found.verdict.answer, Answer::keep);
  EXPECT_EQ(found.recommendation.knobs, setting(1, 8));
  EXPECT_TRUE(found.verdict.beside_load);
  ASSERT_TRUE(found.beyond_recipe.has_value());
  EXPECT_EQ(found.beyond_recipe->global_batch, 64);
}

// Its steps take the time, the CPU time and the memory of those of a smaller one.
TEST_F(Recommend, ABatchThatCostsNothingIsNoAnswerBesideAnyLoad) {
  space_ = Space({setting(1, 8), setting(1, 16)});
  options_.baseline = setting(1, 8);
  for (int round = 0; round < 4; ++round) {
    for (const auto& [batch, rate] : {std::pair(8, 100.0), {16, 200.0}}) {
      Trial trial = beside_stranger(ran(setting(1, batch), rate + round, 1));
      trial.peak_bytes = trial.host_peak_bytes = 500 << 20;
      trials_.push_back(std::move(trial));
    }
  }
  const TuneResult found = result();
  EXPECT_EQ(found.verdict.answer, Answer::keep);
  EXPECT_EQ(found.recommendation.knobs, setting(1, 8));
}

// A gain whose interval is above 1 is not called open; what lacks is the turns.
TEST_F(Recommend, AheadBesideLoadInTooFewTurns) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  race(setting(2), 190, 2, 2);
  for (Trial& trial : trials_) trial = beside_stranger(trial);
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(2));
  EXPECT_EQ(found.inconclusive.code, ReasonCode::too_few_turns);
  EXPECT_TRUE(found.certificate.empty()) << "what is open bounds nothing";
  EXPECT_LT(found.certified_gap, 0);
}

// The start never crashed: what does in one of three launches is not safe to recommend.
TEST_F(Recommend, WhatCrashesAtTimesIsNotRecommended) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  race(setting(1), 100, 1, 3);
  race(setting(2), 150, 1, 2);
  trials_.push_back(failed(setting(2), Outcome::crashed, "exit code 1"));
  EXPECT_EQ(result().recommendation.knobs, setting(1));
  trials_.push_back(failed(setting(1), Outcome::crashed, "exit code 1"));
  EXPECT_EQ(result().recommendation.knobs, setting(2)) << "as all do";
  EXPECT_EQ(result().verdict.safety.state, SafetyState::crashes);
}

TEST_F(Recommend, NothingIsSettledWhereNoWindowWasQuiet) {
  options_.baseline = setting(1);
  trials_.push_back(ran(setting(1), 100, 1, "baseline"));
  const auto disturb = [&] {
    for (Trial& trial : trials_) {
      trial.samples[0].interference.spoilt_by = "swapped";
    }
  };
  disturb();
  space_ = Space({setting(1)});
  EXPECT_EQ(result().inconclusive, reason<ReasonCode::no_quiet_window>(counted(1)));
  space_ = Space({setting(1), setting(2)});
  race(setting(1), 100, 1, 4);
  race(setting(2), 10, 2, 4);
  disturb();
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(1));
  EXPECT_EQ(found.inconclusive, reason<ReasonCode::no_quiet_window>(counted(9)));
  trials_.back().samples[0].interference = {};
  EXPECT_TRUE(result().inconclusive.empty());
}

TEST_F(Recommend, AStartWithoutHeadroomDoesNotStay) {
  options_.baseline = setting(8);
  options_.limit_bytes = 10'000'000'000;
  options_.margin = 0.15;
  trials_.push_back(ran(setting(8), 100, 9.5, "baseline"));
  race(setting(1), 100, 1);
  race(setting(2), 99, 2);
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(1));
  EXPECT_FALSE(found.contender.has_value());
}

TEST_F(Recommend, MemoryThatAnEvaluationTakesIsNamed) {
  options_.limit_bytes = 10'000'000'000;
  options_.margin = 0.15;
  race(setting(1), 100, 4);
  race(setting(2), 120, 5);
  for (const double gigabytes : {10.0, 9.0}) {
    options_.rehearsals.push_back(ran(setting(gigabytes > 9 ? 2 : 1), 100, gigabytes));
    options_.rehearsals.back().outcome = Outcome::out_of_memory;
    const TuneResult found = result();
    EXPECT_FALSE(found.found);
    EXPECT_EQ(found.answer, reason<ReasonCode::evaluation_takes_memory>(in_bytes(5e9)));
  }
}

TEST_F(Recommend, OfATieTheSafestIsChosen) {
  options_.expected_noise = 0.01;
  race(setting(2), 119.8, 2);
  race(setting(4), 120, 4);
  race(setting(8), 119.9, 3);
  const TuneResult found = result();
  EXPECT_EQ(found.ties.size(), 3U);
  EXPECT_EQ(found.recommendation.knobs, setting(2));
  for (const SettingSummary& tie : found.ties) {
    EXPECT_LE(found.recommendation.peak_bytes, tie.peak_bytes);
  }
}

TEST_F(Recommend, AStartThatIsKeptInATieNeedNotBeTheSafest) {
  options_.expected_noise = 0.01;
  race(setting(2), 119.8, 2);
  race(setting(4), 120, 4);
  for (const int start : {2, 4}) {
    options_.baseline = setting(start);
    const TuneResult found = result();
    EXPECT_EQ(found.recommendation.knobs, setting(start));
    EXPECT_EQ(found.ties.size(), 2U);
    const auto& reasons = found.recommendation.reasons;
    EXPECT_EQ(std::ranges::count(reasons, ReasonCode::safest_of_tie, &Reason::code), start == 2);
  }
}

// Peaks that repeats of one setting would differ by decide nothing, wherever they lie.
TEST_F(Recommend, OfATieInMemoryTooTheLighterIsChosen) {
  Knobs more = setting(1);
  more.threads = 2;
  space_ = Space({setting(1), more});
  for (double gigabytes = 1; gigabytes < 1.1; gigabytes += 0.005) {
    trials_.clear();
    race(setting(1), 120, 1.01 * gigabytes);
    race(more, 120, gigabytes);
    EXPECT_EQ(result().recommendation.knobs, setting(1)) << gigabytes;
  }
}

TEST_F(Recommend, ARaceThatOnlyOneBeganDecidesNothing) {
  trials_.push_back(ran(setting(1), 100, 0.5, "baseline"));
  trials_.push_back(ran(setting(2), 205, 1.2, "model"));
  trials_.push_back(ran(setting(4), 204, 2.0, "model"));
  trials_.push_back(ran(setting(4), 200, 2.0, "race"));
  EXPECT_EQ(result().recommendation.knobs, setting(2)) << "faster, and with less memory";
}

// Two lucky trials amid much noise are no better than eight, where all others expect less of them.
TEST_F(Recommend, ALuckyPairDoesNotBeatWhatTheModelExpects) {
  const double noise[] = {0.8, 1.2, 1.15, 0.85, 1.25, 0.75, 1.1, 0.9};
  for (const double factor : noise) {
    trials_.push_back(ran(setting(1), 30 * factor, 1));
    trials_.push_back(ran(setting(4), 110 * factor, 4));
    trials_.push_back(ran(setting(8), 105 * factor, 8));
  }
  trials_.push_back(ran(setting(2), 126, 2, "model"));
  trials_.push_back(ran(setting(2), 100, 2, "model"));
  EXPECT_EQ(result().recommendation.knobs, setting(4));
}

TEST_F(Recommend, ALighterSettingNeedsNoRaceToBeChosen) {
  race(setting(2), 200, 1.2);
  race(setting(4), 201, 2.0);
  trials_.push_back(ran(setting(1), 204, 0.9, "model"));
  trials_.push_back(ran(setting(1), 206, 0.9, "model"));
  trials_.push_back(ran(setting(8), 206, 3.0, "model"));
  trials_.push_back(ran(setting(8), 206, 3.0, "model"));
  EXPECT_EQ(result().recommendation.knobs, setting(1));
}

// Whatever was raced, whatever was disturbed: a setting that is faster beyond its interval is
// chosen, or the result is open.
TEST_F(Recommend, NothingMeasuredIsSurelyFasterThanTheAnswer) {
  int settled = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    trials_.clear();
    options_.baseline = setting(1);
    trials_.push_back(ran(setting(1), 100, 1, "baseline"));
    for (const int nproc : {2, 4, 8}) {
      const double rate = 60 + 10 * static_cast<double>(random.integer(0, 20));
      const auto repeats = random.integer(1, 4);
      for (std::int64_t i = 0; i < repeats; ++i) {
        Trial trial = ran(setting(nproc), rate * (1 + 0.01 * random.normal()), nproc,
                          random.integer(0, 1) == 0 ? "race" : "model");
        if (random.integer(0, 2) == 0) {
          trial.samples[0].interference.spoilt_by = "swapped";
        }
        trials_.push_back(std::move(trial));
      }
    }
    const TuneResult found = result();
    ASSERT_TRUE(found.found);
    const TuneResult part = settle(space_, *search_, trials_, options_);
    EXPECT_EQ(part.recommendation.knobs, found.recommendation.knobs);
    EXPECT_EQ(part.inconclusive, found.inconclusive);
    EXPECT_EQ(part.gain.median, found.gain.median);
    if (!found.inconclusive.empty()) continue;
    ++settled;
    for (const SettingSummary& other : found.settings) {
      if (other.knobs == found.recommendation.knobs) continue;
      EXPECT_LE(other.samples_per_second.low, found.recommendation.samples_per_second.high)
          << seed << ": " << knobs_text(other.knobs);
    }
  }
  EXPECT_GT(settled, 20);
}

TEST_F(Recommend, OneRateOfManySettingsIsInconclusive) {
  trials_.push_back(ran(setting(2), 100, 1));
  EXPECT_EQ(result().inconclusive.code, ReasonCode::only_rate);
  space_ = Space({setting(2)});
  EXPECT_TRUE(result().inconclusive.empty()) << "there is nothing else to try";
}

TEST_F(Recommend, WhatDoesNotWorkLeavesNothingOpen) {
  options_.baseline = setting(1);
  race(setting(1), 50, 1);
  trials_.push_back(failed(setting(2), Outcome::unsupported, "this CPU has no AVX512_VNNI"));
  EXPECT_EQ(result().inconclusive.code, ReasonCode::only_rate) << "others were not run";
  space_ = Space({setting(1), setting(2)});
  EXPECT_TRUE(result().inconclusive.empty());
  trials_.back().outcome = Outcome::skipped;
  EXPECT_EQ(result().inconclusive.code, ReasonCode::only_rate) << "it was not tried";
}

TEST_F(Recommend, WhatReadsOtherwiseLeavesNothingOpen) {
  options_.baseline = setting(1);
  race(setting(1), 50, 1);
  trials_.push_back(failed(setting(2), Outcome::wrong_result, "reads 5 of 5 inputs otherwise"));
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(1));
  EXPECT_TRUE(found.inconclusive.empty());
}

TEST_F(Recommend, WhatNoiseHidesIsNamedThoughItDidNotRace) {
  options_.expected_noise = 0.03;
  race(setting(4), 120, 4);
  trials_.push_back(ran(setting(1), 118.8, 5));
  trials_.push_back(ran(setting(2), 60, 1));
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(4));
  ASSERT_EQ(found.close.size(), 1U);
  EXPECT_EQ(found.close[0].knobs, setting(1));
  EXPECT_EQ(found.close[0].reason.code, ReasonCode::within_noise);
  for (const Neighbour& neighbour : found.rejected) EXPECT_NE(neighbour.knobs, setting(1));
}

// However slow it looks: what these trials cannot tell from the recommended one is never among what
// is not to be launched, and what they can tell is never called close.
TEST_F(Recommend, WhatCannotBeToldApartIsNeverRejected) {
  for (const double rate : {118.0, 116.0, 110.0, 90.0, 70.0}) {
    trials_.clear();
    options_.expected_noise = 0.06;
    race(setting(4), 120, 4);
    trials_.push_back(ran(setting(2), rate, 1));
    const TuneResult found = result();
    ASSERT_EQ(found.recommendation.knobs, setting(4));
    const auto named = [](const std::vector<Neighbour>& list) {
      for (const Neighbour& neighbour : list) {
        if (neighbour.knobs == setting(2)) return neighbour.reason;
      }
      return Reason();
    };
    const Reason close = named(found.close), rejected = named(found.rejected);
    EXPECT_NE(close.empty(), rejected.empty()) << rate;
    EXPECT_NE(rejected.code, ReasonCode::within_noise) << rate;
    if (!close.empty()) {
      EXPECT_EQ(close.code, rate > 108 ? ReasonCode::within_noise : ReasonCode::left_open) << rate;
    }
    EXPECT_EQ(rejected.empty(), rate > 100) << rate;
  }
}

TEST_F(Recommend, ASettingWithoutHeadroomIsRejectedForThat) {
  options_.limit_bytes = 10'000'000'000;
  options_.margin = 0.1;
  options_.expected_noise = 0.05;
  space_ = Space({setting(1), setting(4), setting(8)});
  race(setting(4), 120, 4);
  race(setting(8), 120, 9.5);
  const TuneResult found = result();
  EXPECT_EQ(found.recommendation.knobs, setting(4));
  Reason why;
  for (const Neighbour& neighbour : found.rejected) {
    if (neighbour.knobs == setting(8)) why = neighbour.reason;
  }
  EXPECT_EQ(why.code, ReasonCode::too_little_free);
  EXPECT_NEAR(why.number(0), 0.05, 1e-9);
  EXPECT_EQ(why.number(1), 0.1);
}

TEST_F(Recommend, ATieNeedsMoreOfWhatItReallyNeeds) {
  SettingSummary chosen, tie;
  chosen.knobs = tie.knobs = setting(4);
  chosen.peak_bytes = tie.peak_bytes = 1000;
  EXPECT_TRUE(needs_more(tie, chosen).empty());
  tie.knobs.batch = chosen.knobs.batch + 8;
  EXPECT_EQ(needs_more(tie, chosen).code, ReasonCode::larger_batch);
  tie.knobs.threads = chosen.knobs.threads + 1;
  EXPECT_EQ(needs_more(tie, chosen).code, ReasonCode::more_threads);
  tie.knobs.nproc = 2;
  EXPECT_TRUE(needs_more(tie, chosen).empty());
  tie.peak_bytes = 1001;
  EXPECT_EQ(needs_more(tie, chosen).code, ReasonCode::more_memory);
}

TEST_F(Recommend, WhatLeavesNoHeadroomIsNotRecommended) {
  options_.limit_bytes = 4000000000;
  options_.margin = 0.1;
  race(setting(2), 90, 2);
  race(setting(4), 120, 3.9);
  EXPECT_EQ(result().recommendation.knobs, setting(2));
}

TEST_F(Recommend, NoiseIsSaidNotHidden) {
  options_.expected_noise = 0.15;
  for (double factor : {0.8, 1.2, 1.0}) {
    trials_.push_back(ran(setting(2), 100 * factor, 2));
    trials_.push_back(ran(setting(4), 106 * (2 - factor), 4));
  }
  const TuneResult found = result();
  EXPECT_EQ(found.noise_statement.code, ReasonCode::too_noisy);
  EXPECT_GT(found.noise, 0.05);
}

TEST_F(Recommend, RulesAreAudited) {
  options_.expected_noise = 0.01;
  options_.rules = {{"seven", {}, setting(7)}, {"memory_half", {}, setting(32)}};
  race(setting(4), 120, 4);
  race(setting(7), 96, 7);
  const TuneResult found = result();
  ASSERT_EQ(found.rules.size(), 2U);
  EXPECT_NEAR(found.rules[0].loss.median, 0.2, 0.01);
  EXPECT_EQ(found.rules[0].verdict.code, ReasonCode::rule_costs);
  EXPECT_EQ(found.rules[1].verdict.code, ReasonCode::rule_does_not_fit);
}

TEST_F(Recommend, UnderOtherLoadMoreThreadsThanCpusDoNotWin) {
  options_.cpus = 2;
  race(setting(2), 100, 1);
  race(setting(8), 300, 1);
  EXPECT_EQ(result().recommendation.knobs, setting(8));  // a clean host: the numbers stand
  for (Trial& trial : trials_) trial.samples[0].interference.spoilt_by = "other processes";
  const TuneResult crowded = result();
  EXPECT_EQ(crowded.recommendation.knobs, setting(2));
  EXPECT_THAT(crowded.recommendation.reasons,
              Contains(Field(&Reason::code, ReasonCode::crowding_left_out)));
  options_.cpus = 1;  // nothing fits: the fastest is still the answer
  EXPECT_EQ(result().recommendation.knobs, setting(8));
}

TEST_F(Recommend, NothingThatWorksIsAnAnswer) {
  EXPECT_EQ(result().answer.code, ReasonCode::nothing_run);
  trials_.push_back(failed(setting(1), Outcome::crashed, "signal 11"));
  const TuneResult found = result();
  EXPECT_FALSE(found.found);
  EXPECT_EQ(found.answer.nested(2), verbatim("signal 11"));
}

// One set of settings, one number, one direction.
TEST_F(Recommend, CertificateNextExperimentAndWhyNotAgree) {
  options_.expected_noise = 0.01;
  race(setting(1), 100, 1);
  race(setting(2), 190, 2);
  race(setting(4), 330, 4);
  race(setting(8), 340, 8);
  const TuneResult found = result();
  ASSERT_TRUE(found.found);
  ASSERT_GT(found.certified_gap, kSmallGain);
  const int percent = percent_of_gain(found.certified_gap);
  EXPECT_EQ(found.certificate.code, ReasonCode::certified);
  EXPECT_EQ(found.certificate.number(0), percent);
  EXPECT_EQ(found.advice.code, ReasonCode::not_conclusive);
  EXPECT_EQ(found.advice.nested(1).code, ReasonCode::faster);
  EXPECT_NEAR(found.advice.nested(1).number(0), percent, 1e-9);
  bool named = false;
  for (const Knobs& knobs : space_.points()) {
    if (found.advice.text(0) != knobs_text(knobs)) continue;
    named = true;
    const Reason better = why_not(knobs, space_, *search_, trials_, found).answer.nested(3);
    EXPECT_EQ(better, reason<ReasonCode::could_be_better>(counted(percent)));
  }
  EXPECT_TRUE(named);
}

// What keeps a search going and what the certificate says are one number.
TEST_F(Recommend, AWideCertificateIsAnOpenQuestion) {
  options_.expected_noise = 0.005;
  race(setting(1), 100, 1);
  race(setting(2), 190, 2);
  ASSERT_GT(result().certified_gap < 0 ? 1 : result().certified_gap, kMaxOpenGain);
  const auto open = open_question(space_, *search_, trials_, options_);
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->chosen, setting(2));
  EXPECT_EQ(result().advice.text(0), knobs_text(open->rival));
}

TEST_F(Recommend, StoppingIsFineOnlyBelowFivePercent) {
  options_.expected_noise = 0.005;
  space_ = Space({setting(1), setting(2)});
  race(setting(1), 100, 1);
  race(setting(2), 190, 2);
  const TuneResult found = result();
  EXPECT_GE(found.certified_gap, 0);
  EXPECT_LE(found.certified_gap, kSmallGain);
  EXPECT_THAT(found.advice.code,
              AnyOf(ReasonCode::next_best, ReasonCode::interval_to_halve_or_stop));
  EXPECT_FALSE(open_question(space_, *search_, trials_, options_).has_value());
}

TEST_F(Recommend, ARunOfAnInstantIsTheStartOfTheProgram) {
  options_.objective.rate = Unit::run_rate;
  race(setting(4), 58, 4);
  const auto noted = [&] {
    const auto& reasons = result().recommendation.reasons;
    return std::any_of(reasons.begin(), reasons.end(),
                       [](const Reason& reason) { return reason.is(ReasonCode::runs_are_starts); });
  };
  EXPECT_TRUE(noted());
  options_.objective.rate = Unit::sample_rate;
  EXPECT_FALSE(noted()) << "58 images in a second are work";
  options_.objective.rate = Unit::run_rate;
  trials_.clear();
  race(setting(4), 0.5, 4);
  EXPECT_FALSE(noted());
}

Knobs on_hosts(const char* nodes) {
  Knobs knobs = Recommend::setting(2);
  knobs.dims["nodes"] = nodes;
  return knobs;
}

TEST_F(Recommend, SeveralHostsHaveToBeatOneByMoreThanTheNoise) {
  space_ = Space({on_hosts("1"), on_hosts("2")});
  race(on_hosts("1"), 100, 2);
  race(on_hosts("2"), 150, 1);
  EXPECT_EQ(result().recommendation.knobs.dims["nodes"], "2");
  trials_.clear();
  race(on_hosts("1"), 100, 2);
  race(on_hosts("2"), 100.1, 1);  // less memory a host is no reason for another host
  EXPECT_EQ(result().recommendation.knobs.dims["nodes"], "1");
}

}  // namespace
}  // namespace ocrtune
