// A fleet over a year: spares by the binomial, growth compounded, scaling by the minute.
#include "extras/capacity/year.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Ten machines carry 1,000 requests/s, each exactly 100.
CapacityPlan plan_of(double load) {
  CapacityPlan plan;
  plan.demand.requests_per_second = load;
  plan.machine_rate = {100, 100, 100};
  plan.machines = {load / 100, load / 100, load / 100};
  return plan;
}

TEST(ShareShort, IsTheBinomials) {
  EXPECT_NEAR(share_short(2, 2, 0.9), 1 - 0.81, 1e-12);
  EXPECT_NEAR(share_short(3, 2, 0.9), 1 - 0.729 - 3 * 0.081, 1e-12);
  EXPECT_EQ(share_short(1, 2, 0.9), 1);
  EXPECT_EQ(share_short(5, 5, 1), 0);
}

TEST(SparesFor, AreTheFewestThatReachTheTarget) {
  EXPECT_EQ(spares_for(10, 1, 0.9999), 0);
  EXPECT_EQ(spares_for(1, 0.99, 0.99), 0);
  EXPECT_EQ(spares_for(1, 0.99, 0.9999), 1);
  const int spares = spares_for(40, 0.995, 0.9999);
  EXPECT_LE(share_short(40 + spares, 40, 0.995), 1e-4);
  EXPECT_GT(share_short(40 + spares - 1, 40, 0.995), 1e-4);
}

// Each zone holds what all others need after its loss, and never less than N + k over all.
TEST(FleetFor, TheLossOfAZoneLeavesEnough) {
  YearDemand demand;  // 99.9 % of machines that are up for 99.5 %
  EXPECT_EQ(fleet_for(4, demand).bought, 5);
  EXPECT_EQ(fleet_for(7, demand).bought, 8);
  for (int zones = 2; zones <= 4; ++zones) {
    demand.zones = zones;
    for (int needed = 1; needed <= 30; ++needed) {
      const FleetSize fleet = fleet_for(needed, demand);
      EXPECT_EQ(fleet.bought, zones * fleet.each_zone);
      EXPECT_GE(fleet.bought - fleet.each_zone, needed);
      EXPECT_GE(fleet.bought, needed + fleet.spares);
      const bool fewer = fleet.bought - zones >= needed + fleet.spares &&
                         (zones - 1) * (fleet.each_zone - 1) >= needed;
      EXPECT_FALSE(fewer) << needed << " in " << zones;
    }
  }
  demand.zones = 2;
  EXPECT_EQ(fleet_for(4, demand).each_zone, 4);
}

TEST(PlanYear, TheMeasuredStartIsTheWarmUpUnlessOneIsGiven) {
  CapacityPlan plan = plan_of(1000);
  plan.node.start_seconds = 90;
  YearDemand demand;
  EXPECT_DOUBLE_EQ(plan_year(plan, demand).demand.warm_up_seconds, 90);
  demand.warm_up_seconds = 600;
  EXPECT_DOUBLE_EQ(plan_year(plan, demand).demand.warm_up_seconds, 600);
}

TEST(PlanYear, GrowthIsCompounded) {
  YearDemand demand;
  demand.growth = 0.05;
  const YearPlan year = plan_year(plan_of(1000), demand);
  ASSERT_EQ(year.rows.size(), 13U);
  EXPECT_EQ(year.rows[0].fleet.machines, 10);
  EXPECT_EQ(year.rows[12].fleet.machines, static_cast<int>(std::ceil(10 * std::pow(1.05, 12))));
  EXPECT_NEAR(year.rows[12].requests_per_second, 1000 * std::pow(1.05, 12), 1e-6);
  EXPECT_TRUE(year.hours.empty());
  // Without a profile the load is at its peak all the time, and only growth can be followed.
  EXPECT_LT(year.scaled_machine_hours, year.fixed_machine_hours);
}

TEST(PlanYear, ALoadThatShrinksIsBoughtForItsFirstMonth) {
  YearDemand demand;
  demand.growth = -0.05;
  const YearPlan year = plan_year(plan_of(1000), demand);
  EXPECT_LT(year.rows.back().fleet.bought, year.rows[0].fleet.bought);
  EXPECT_EQ(largest_month(year).fleet.bought, year.rows[0].fleet.bought);
  EXPECT_NEAR(year.fixed_machine_hours, 12 * year.rows[0].fixed_hours, 1e-6);
}

// Machines of a fleet differ, so that ten may be too few of a load that each of ten carries alone.
TEST(PlanYear, BeginsWithThePlansOwnCount) {
  CapacityPlan plan = plan_of(1000);
  plan.machines.high = 11;
  EXPECT_EQ(plan_year(plan, {}).rows[0].fleet.machines, 11);
  plan.machines.high = 1;
  plan.demand.requests_per_second = 50;
  EXPECT_EQ(plan_year(plan, {}).rows[0].fleet.machines, 1);
}

TEST(PlanYear, ScalingStartsMachinesBeforeTheyAreNeeded) {
  CapacityPlan plan = plan_of(1000);
  plan.demand.profile.parts = {{0, 100}, {12 * 60, 1000}, {13 * 60, 100}};
  YearDemand demand;
  demand.machine_availability = 1;
  demand.warm_up_seconds = 1800;
  const YearPlan year = plan_year(plan, demand);
  ASSERT_EQ(year.hours.size(), 24U);
  EXPECT_EQ(year.hours[10].machines, 1);
  EXPECT_EQ(year.hours[11].machines, 10);  // from 11:30 on
  EXPECT_EQ(year.hours[12].machines, 10);
  EXPECT_EQ(year.hours[13].machines, 1);
  const double hours = 365.0 * 24 / 12;
  EXPECT_NEAR(year.rows[0].fixed_hours, 10 * hours, 1e-6);
  EXPECT_NEAR(year.rows[0].scaled_hours, hours * (1.5 * 10 + 22.5) / 24, 1e-6);
  EXPECT_EQ(year.rows[0].fixed_risk_hours, 0);
}

TEST(PlanYear, HoursAtRiskAreThoseWithTooFewUp) {
  YearDemand demand;
  demand.availability = 0.99;
  const YearPlan year = plan_year(plan_of(1000), demand);
  const YearRow& row = year.rows[0];
  EXPECT_NEAR(row.fixed_risk_hours,
              365.0 * 2 * share_short(row.fleet.bought, row.fleet.machines, 0.995), 1e-9);
  EXPECT_DOUBLE_EQ(row.fixed_risk_hours, row.scaled_risk_hours);
}

}  // namespace
}  // namespace ocrtune
