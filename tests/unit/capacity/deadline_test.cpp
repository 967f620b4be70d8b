#include "extras/capacity/deadline.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stats.h"
#include "extras/capacity/capacity.h"
#include "trial/table_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

class ParseDeadline : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  void TearDown() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static constexpr std::int64_t kWednesdayNoon = 1764158400;  // 2025-11-26 12:00 UTC
};

TEST_F(ParseDeadline, IsADurationOrTheNextSuchTime) {
  constexpr double kHour = 3600;
  for (const auto& [text, hours, by] :
       {std::tuple<std::string, double, std::string>{"90m", 1.5, ""},
        {"18:00", 6, "2025-11-26 18:00"},
        {"12:00", 24, "2025-11-27 12:00"},
        {"Fri 18:00", 54, "2025-11-28 18:00"},
        {"Wed 13:30", 1.5, "2025-11-26 13:30"},
        {"Wed 11:00", 7 * 24 - 1, "2025-12-03 11:00"},
        {"2025-12-01 00:00", 4 * 24 + 12, "2025-12-01 00:00"},
        {"2025-12-01T06:00", 4 * 24 + 18, "2025-12-01 06:00"}}) {
    const auto deadline = parse_deadline(text, kWednesdayNoon);
    ASSERT_TRUE(deadline.ok()) << text << ": " << deadline.error().what;
    EXPECT_DOUBLE_EQ(deadline->seconds, hours * kHour) << text;
    EXPECT_EQ(deadline->by, by);
  }
}

TEST_F(ParseDeadline, RefusesWhatIsPastOrNoTime) {
  EXPECT_THAT(parse_deadline("2025-11-26 11:59", kWednesdayNoon).error().what, HasSubstr("past"));
  EXPECT_THAT(parse_deadline("2026-02-31 10:00", kWednesdayNoon).error().what,
              HasSubstr("no day of the calendar"));
  for (const char* text : {"", "soon", "25:00", "Fri", "Fri 18:00 or so", "0", "-1h"}) {
    EXPECT_THAT(parse_deadline(text, kWednesdayNoon).error().what, HasSubstr("'Fri 18:00'"))
        << text;
  }
}

TEST(ParseInterruptions, AreKnownOrCounted) {
  Interruptions stops;
  ASSERT_TRUE(parse_interruptions("8h", stops).ok());
  EXPECT_FALSE(stops.counted);
  EXPECT_DOUBLE_EQ(stops.per_second(), 1 / 28800.0);
  ASSERT_TRUE(parse_interruptions("3/200h", stops).ok());
  EXPECT_TRUE(stops.counted);
  EXPECT_DOUBLE_EQ(stops.per_second(), 3 / 720000.0);
  ASSERT_TRUE(parse_interruptions("0/100h", stops).ok());
  EXPECT_TRUE(stops.expected());
  for (const char* text : {"", "often", "0", "-1/5h", "3/", "/5h", "1.5/5h"}) {
    EXPECT_FALSE(parse_interruptions(text, stops).ok()) << text;
  }
  ASSERT_TRUE(parse_checkpoints("15m:20s", stops).ok());
  EXPECT_DOUBLE_EQ(stops.checkpoint_every_seconds, 900);
  EXPECT_DOUBLE_EQ(stops.checkpoint_seconds, 20);
  for (const char* text : {"", "15m:", ":20s", "0", "a:b"}) {
    EXPECT_FALSE(parse_checkpoints(text, stops).ok()) << text;
  }
}

TEST(DrawInterruptions, SpreadsAsTheGammaDistribution) {
  Random random(5);
  for (const double seen : {0.0, 3.0, 400.0}) {
    Interruptions stops;
    stops.watched_seconds = 1000;
    stops.seen = seen;
    stops.counted = true;
    std::vector<double> rates;
    for (int i = 0; i < 40000; ++i) rates.push_back(1000 * draw_interruptions(stops, random));
    EXPECT_NEAR(mean(rates), seen + 0.5, 0.03 * (seen + 0.5));
    EXPECT_NEAR(stddev(rates), std::sqrt(seen + 0.5), 0.05 * std::sqrt(seen + 0.5));
  }
}

TEST(DrawFinish, WithoutInterruptionsIsStartWorkAndCheckpoints) {
  Interruptions stops;
  Random random(1);
  EXPECT_DOUBLE_EQ(draw_finish(1000, 30, 0, stops, 1e9, random).seconds, 1030);
  stops.checkpoint_every_seconds = 300;
  stops.checkpoint_seconds = 10;
  EXPECT_DOUBLE_EQ(draw_finish(1000, 30, 0, stops, 1e9, random).seconds, 1030 + 4 * 10);
}

// Closed form: each of K segments of length s takes (e^(rs) - 1) e^(rR) / r on average, with
// interruptions at rate r and restarts of R.
TEST(DrawFinish, TakesAsLongAsTheClosedFormSays) {
  Random random(2);
  for (const auto& [rate, every, written, restart] : {std::tuple{1 / 3600.0, 600.0, 20.0, 120.0},
                                                      {1 / 900.0, 600.0, 20.0, 300.0},
                                                      {1 / 36000.0, 1800.0, 60.0, 600.0}}) {
    Interruptions stops;
    stops.checkpoint_every_seconds = every;
    stops.checkpoint_seconds = written;
    stops.restart_seconds = restart;
    const double segments = 20;
    std::vector<double> seconds, counts;
    for (int i = 0; i < 20000; ++i) {
      const Finish finish = draw_finish(segments * every, 0, rate, stops, 1e9, random);
      seconds.push_back(finish.seconds);
      counts.push_back(finish.interruptions);
    }
    const double expected =
        segments * (std::exp(rate * (every + written)) - 1) * std::exp(rate * restart) / rate;
    EXPECT_NEAR(mean(seconds), expected, 0.01 * expected);
    EXPECT_NEAR(mean(counts), expected * rate, 0.03 * expected * rate);
  }
}

TEST(DrawFinish, WithoutCheckpointsALongJobHasNoEnd) {
  Interruptions stops;
  stops.restart_seconds = 10;
  Random random(3);
  EXPECT_TRUE(std::isinf(draw_finish(100000, 0, 1 / 1000.0, stops, 1e6, random).seconds));
  EXPECT_TRUE(std::isfinite(draw_finish(100, 0, 1 / 1000.0, stops, 1e6, random).seconds));
}

NodeMeasurement measured(RunWork work) {
  const std::string csv =
      "nproc,threads,batch,nodes,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "4,1,8,1,100,1,ok,0.01\n4,1,8,2,190,1,ok,0.01\n4,1,8,4,350,1,ok,0.01\n"
      "4,1,8,8,600,1,ok,0.01\n";
  NodeMeasurement node = measure_node(parse_table(csv, "t").value(), "t").value();
  node.work = work;
  node.start_seconds = 60;
  return node;
}

CapacityDemand job(double hours_alone, double deadline_hours) {
  CapacityDemand demand;
  demand.samples = hours_alone * 3600 * 100;
  demand.deadline_seconds = deadline_hours * 3600;
  return demand;
}

TEST(PlanJob, InterruptionsCostMachinesAndTheRowsSayHowLikely) {
  CapacityDemand demand = job(10, 6);
  const auto calm = plan_capacity(measured(RunWork::trains), demand);
  ASSERT_TRUE(calm.ok());
  EXPECT_EQ(calm->machines.high, 2);
  demand.interruptions.watched_seconds = 8 * 3600;
  demand.interruptions.restart_seconds = 900;
  demand.interruptions.checkpoint_every_seconds = 1800;
  demand.interruptions.checkpoint_seconds = 30;
  const auto spot = plan_capacity(measured(RunWork::trains), demand);
  ASSERT_TRUE(spot.ok());
  ASSERT_FALSE(spot->refused());
  EXPECT_GT(spot->machines.high, calm->machines.high);
  for (const CapacityRow& row : spot->rows) {
    EXPECT_GT(row.interruptions, 0.8);
    EXPECT_GT(row.lost_share, 0.04);
    if (row.machines == spot->machines.high) {
      EXPECT_GE(row.probability, 0.95);
      EXPECT_LE(row.seconds.high, demand.deadline_seconds);
    }
  }
}

TEST(PlanJob, WithoutCheckpointsInterruptionsAreTheReason) {
  CapacityDemand demand = job(40, 30);
  demand.interruptions.watched_seconds = 3600;
  const auto plan = plan_capacity(measured(RunWork::trains), demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->refusal, PlanRefusal::interrupted);
}

// Against a simulation of its own: each machine with its shard, its speed and its interruptions,
// and the end is the last one's.
TEST(PlanJob, AReadingJobEndsWithItsLastMachine) {
  CapacityDemand demand = job(100, 5.5);
  demand.interruptions.watched_seconds = 4 * 3600;
  demand.interruptions.restart_seconds = 600;
  const auto plan = plan_capacity(measured(RunWork::recognises), demand);
  ASSERT_TRUE(plan.ok());
  ASSERT_FALSE(plan->refused());
  const int machines = static_cast<int>(plan->machines.median);
  const auto share_in_time = [&](int count) {
    Random random(99);
    constexpr int kJobs = 2000;
    int in_time = 0;
    for (int i = 0; i < kJobs; ++i) {
      const double kind = std::exp(0.035 * random.normal());
      bool all = true;
      for (int machine = 0; machine < count; ++machine) {
        const double work = 360000.0 / count / kind * std::exp(0.02 * random.normal());
        double spent = 60, lost = 0;
        for (double at = random.exponential(1.0 / (4 * 3600)); at < 60 + work;
             at += random.exponential(1.0 / (4 * 3600))) {
          lost += 600;
        }
        spent += work + lost;
        all = all && spent <= demand.deadline_seconds;
      }
      in_time += all ? 1 : 0;
    }
    return static_cast<double>(in_time) / kJobs;
  };
  EXPECT_GT(share_in_time(machines), 0.4);
  EXPECT_LT(share_in_time(machines - 1), 0.6);
  const CapacityRow* row = plan->row(plan->machines.high);
  ASSERT_NE(row, nullptr);
  EXPECT_NEAR(share_in_time(static_cast<int>(plan->machines.high)), row->probability, 0.03);
  EXPECT_GT(row->tail_seconds, 600);  // the machine that was interrupted most
}

// Machines that differ end one after the other, and one interruption in a year costs nothing.
TEST(PlanJob, WhatTheLastMachineTakesIsNotLostToInterruptions) {
  CapacityDemand demand = job(100, 5.5);
  demand.interruptions.watched_seconds = 365 * 86400.0;
  const auto plan = plan_capacity(measured(RunWork::reads), demand);
  ASSERT_TRUE(plan.ok());
  const CapacityRow* row = plan->row(plan->machines.high);
  ASSERT_NE(row, nullptr);
  EXPECT_GT(row->tail_seconds, 120);
  EXPECT_LT(row->lost_share, 0.01);
}

TEST(PlanJob, ShardsHaveNoBalancerThatBoundsThem) {
  const auto plan = plan_capacity(measured(RunWork::reads), job(2000, 8));
  ASSERT_TRUE(plan.ok());
  ASSERT_FALSE(plan->refused());
  EXPECT_NEAR(plan->machines.median, 250, 20);
  EXPECT_EQ(plan_capacity(measured(RunWork::reads), job(20000, 8))->refusal,
            PlanRefusal::job_too_large);
}

}  // namespace
}  // namespace ocrtune
