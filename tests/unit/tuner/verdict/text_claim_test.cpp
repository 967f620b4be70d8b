// All trials of a setting together judge its texts, whichever came last.
#include "tuner/verdict/text_claim.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Forty inputs, each answered so often; the first `differing` of them once otherwise.
Trial read(int nproc, std::int64_t answers, int differing) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.knobs.nproc = nproc;
  trial.samples_per_second = 10 * nproc;
  trial.same.not_compared = NotCompared::no;
  trial.same.inputs = trial.same.all_inputs = 40;
  trial.same.answers = 40 * answers;
  trial.same.characters = 400;
  for (int input = 0; input < differing; ++input) {
    InputDifference one;
    one.input = input;
    one.answers = answers;
    one.differing = 1;
    one.characters = 1;
    trial.same.differing.push_back(one);
  }
  return trial;
}

std::vector<Setting> weighed(const std::vector<Trial>& trials, double max_change = 0) {
  std::vector<Setting> settings = settings_of(trials, 0.03);
  weigh_texts(trials, trials[0].knobs, max_change, settings);
  return settings;
}

TEST(WeighTexts, APresentSettingThatRepeatsItselfLaterSpeaksAgainstAnother) {
  std::vector<Trial> trials = {read(1, 5, 0), read(2, 5, 8)};
  for (const Setting& setting : weighed(trials)) EXPECT_TRUE(setting.works());
  for (int again = 0; again < 3; ++again) trials.push_back(read(1, 5, 0));
  const auto settings = weighed(trials);
  EXPECT_EQ(settings[0].summary.knobs.nproc, 1);
  EXPECT_TRUE(settings[0].works());
  EXPECT_EQ(settings[1].summary.outcome, Outcome::wrong_result);
  EXPECT_TRUE(weighed(trials, 0.1)[1].works()) << "as much may change";
}

TEST(WeighTexts, WhatThePresentSettingVariesByItselfIsNoFault) {
  const std::vector<Trial> trials = {read(1, 5, 8), read(2, 5, 8), read(1, 5, 8)};
  for (const Setting& setting : weighed(trials)) EXPECT_TRUE(setting.works());
}

}  // namespace
}  // namespace ocrtune
