#include "tuner/verdict/soak.h"

#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"
#include "trial/reason.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {
namespace {

constexpr double kMebibyte = 1048576;
constexpr std::uint64_t kLimit = 10ULL << 30;

// A server at 40 requests a second whose memory grows by so much with each.
Trial soaked(double bytes_a_request, double seconds = 30) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = 40;
  for (double now = 0; now <= seconds; now += 0.1) {
    const double bytes = 200 * kMebibyte + 40 * now * bytes_a_request;
    trial.memory_trace.push_back({now, static_cast<std::uint64_t>(bytes)});
    trial.peak_bytes = trial.memory_trace.back().bytes;
  }
  trial.growth = memory_growth(trial);
  trial.memory_trace.clear();  // a stored trial has none
  return trial;
}

TEST(Soak, ALeakIsToldByTheRequest) {
  const Reason said = soak_reason({soaked(kMebibyte)}, Knobs(), kLimit, true);
  ASSERT_EQ(said.code, ReasonCode::soak_grows_by_request);
  EXPECT_NEAR(said.number(0), 30, 0.2);
  EXPECT_NEAR(said.number(1), kMebibyte, 1000);
  const double left = 10 * 1024 - 200 - 1200;  // requests of a mebibyte each
  EXPECT_NEAR(said.number(3), left, 20);
  EXPECT_NEAR(said.number(4), left / 40, 1);
  EXPECT_EQ(said.number(5), 4400) << "half of the way, two digits";
  const Reason by_time = soak_reason({soaked(kMebibyte)}, Knobs(), kLimit, false);
  ASSERT_EQ(by_time.code, ReasonCode::soak_grows);
  EXPECT_NEAR(by_time.number(3), left / 40, 1);
}

// The heaps of Node and Go take some KiB with each request until they are collected.
TEST(Soak, AHeapThatFillsIsNoLeakInAMinute) {
  const double bytes = 8 * 1024;
  const Reason open = soak_reason({soaked(bytes, 60)}, Knobs(), kLimit, true);
  ASSERT_EQ(open.code, ReasonCode::soak_may_grow);
  EXPECT_NEAR(open.number(0), 60, 0.2);
  EXPECT_NEAR(open.number(1), 40 * bytes, 100);
  const Reason told = soak_reason({soaked(bytes, 310)}, Knobs(), kLimit, true);
  EXPECT_EQ(told.code, ReasonCode::soak_grows_by_request);
}

TEST(Soak, GrowthIsNeverCalledSteady) {
  EXPECT_EQ(soak_reason({soaked(kMebibyte)}, Knobs(), 0, true).code, ReasonCode::soak_may_grow);
  EXPECT_EQ(soak_reason({soaked(kMebibyte)}, Knobs(), 1, true).code, ReasonCode::soak_may_grow);
}

TEST(Soak, OneThatFailsSpeaksAgainstItsSetting) {
  const auto weighed = [](Outcome outcome) {
    Trial soak = soaked(0);
    soak.outcome = outcome;
    Setting setting;
    setting.summary.outcome = Outcome::ok;
    setting.rates = {40};
    std::vector<Setting> settings = {setting};
    weigh_soaks({soak}, settings);
    return settings[0];
  };
  EXPECT_EQ(weighed(Outcome::ok).summary.crashes, 0);
  EXPECT_EQ(weighed(Outcome::crashed).summary.crashes, 1);
  EXPECT_EQ(weighed(Outcome::hung).summary.crashes, 1);
  EXPECT_FALSE(weighed(Outcome::out_of_memory).works());
}

Trial at_rate(double rate, double seconds) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  trial.samples = {window_of(rate, seconds)};
  return trial;
}

TEST(Soak, ARateThatFallsIsSaid) {
  const std::vector<Trial> trials = {at_rate(130, 3), at_rate(128, 3)};
  const Reason falls = soak_falls({at_rate(90, 13)}, trials, Knobs(), 0.03);
  ASSERT_EQ(falls.code, ReasonCode::rate_falls);
  EXPECT_NEAR(falls.number(0), 129, 1e-6);
  EXPECT_NEAR(falls.number(1), 90, 1e-6);
  EXPECT_TRUE(soak_falls({at_rate(90, 13)}, trials, Knobs(), 0.2).empty()) << "noise";
  EXPECT_TRUE(soak_falls({at_rate(118, 13)}, trials, Knobs(), 0.01).empty());
  EXPECT_TRUE(soak_falls({}, trials, Knobs(), 0.03).empty());
  EXPECT_TRUE(soak_falls({at_rate(90, 13)}, {}, Knobs(), 0.03).empty());
}

TEST(Soak, WhatDoesNotGrowIsSaid) {
  const Reason said = soak_reason({soaked(0)}, Knobs(), kLimit, true);
  ASSERT_EQ(said.code, ReasonCode::soak_steady);
  EXPECT_EQ(said.number(1), 200 * kMebibyte);
  EXPECT_EQ(soak_reason({soaked(20)}, Knobs(), kLimit, true).code, ReasonCode::soak_steady)
      << "24 KB in half a minute is an allocator's";
}

TEST(Soak, AFailureIsToldAndOtherKnobsAreNot) {
  Trial failed = soaked(0);
  failed.outcome = Outcome::crashed;
  failed.reason = "the server ended with exit code 3";
  const Reason said = soak_reason({soaked(0), failed}, Knobs(), kLimit, true);
  ASSERT_EQ(said.code, ReasonCode::soak_failed);
  EXPECT_EQ(said.nested(1).text(0), "the server ended with exit code 3");
  Knobs other;
  other.nproc = 3;
  EXPECT_TRUE(soak_reason({failed}, other, kLimit, true).empty());
  EXPECT_TRUE(soak_reason({}, Knobs(), kLimit, true).empty());
}

}  // namespace
}  // namespace ocrtune
