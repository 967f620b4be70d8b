#include "tuner/verdict/importance.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

SettingSummary rated(int nproc, int threads, double rate) {
  SettingSummary setting;
  setting.knobs.nproc = nproc;
  setting.knobs.threads = threads;
  setting.samples_per_second.median = rate;
  return setting;
}

template <typename Rate>
std::vector<SettingSummary> grid(const Rate& rate) {
  std::vector<SettingSummary> settings;
  for (const int nproc : {1, 2, 4}) {
    for (const int threads : {1, 2, 4}) {
      settings.push_back(rated(nproc, threads, rate(nproc, threads)));
    }
  }
  return settings;
}

TEST(Importance, AKnobThatDoesAllHasAll) {
  const Reason said = importance_reason(grid([](int nproc, int) { return 100.0 * nproc; }), {});
  ASSERT_EQ(said.code, ReasonCode::knobs_matter);
  EXPECT_EQ(said.text(0), "nproc 100 %");
}

TEST(Importance, KnobsThatMultiplyDoNotActTogether) {
  const Reason said =
      importance_reason(grid([](int nproc, int threads) { return nproc * nproc * threads; }), {});
  ASSERT_EQ(said.code, ReasonCode::knobs_matter);
  EXPECT_EQ(said.text(0), "nproc 80 %, threads 20 %");
}

TEST(Importance, WhatOnlyThePairDoesIsTold) {
  const auto crowded = [](int nproc, int threads) { return nproc * threads > 4 ? 10.0 : 100.0; };
  const Reason said = importance_reason(grid(crowded), {});
  ASSERT_EQ(said.code, ReasonCode::knobs_matter_together);
  EXPECT_EQ(said.text(1), "nproc");
  EXPECT_EQ(said.text(2), "threads");
  EXPECT_NEAR(said.number(3), 1 / 3.0, 0.01);
}

TEST(Importance, LittleIsNotTold) {
  EXPECT_TRUE(importance_reason(grid([](int, int) { return 100.0; }), {}).empty());
  EXPECT_TRUE(importance_reason({rated(1, 1, 10), rated(2, 2, 40)}, {}).empty());
  EXPECT_TRUE(importance_reason({}, {}).empty());
}

// Of fewer the shares would be the model's own belief, whatever it predicts.
TEST(Importance, EightSettingsHaveToHaveRun) {
  auto settings = grid([](int nproc, int) { return 100.0 * nproc; });
  std::vector<PredictedSetting> predicted(1);
  predicted[0].knobs = settings.back().knobs;
  predicted[0].samples_per_second.median = settings.back().samples_per_second.median;
  settings.resize(8);
  EXPECT_EQ(importance_reason(settings, predicted).code, ReasonCode::knobs_matter);
  settings.resize(7);
  EXPECT_TRUE(importance_reason(settings, predicted).empty());
}

}  // namespace
}  // namespace ocrtune
