// The rule is tried against the profile: lateness, cost and bounds.
#include "extras/capacity/autoscale.h"

#include <gtest/gtest.h>

#include "extras/capacity/day_profile.h"
#include "extras/capacity/fleet_plan.h"
#include "trial/table_runner.h"

namespace ocrtune {
namespace {

// A machine of four servers, each 0.4 s a request: 10/s at most.
NodeMeasurement server() {
  NodeMeasurement node =
      measure_node(parse_table("nproc,threads,samples_per_second,peak_bytes,outcome,noise_sigma\n"
                               "4,1,10,1,ok,0.01\n",
                               "t")
                       .value(),
                   "t")
          .value();
  node.start_seconds = 20;
  return node;
}

CapacityDemand day(const char* peak) {
  CapacityDemand demand;
  demand.profile = profile_of_peak(*parse_peak(peak), 800000).value();
  demand.daily_requests = 800000;
  demand.requests_per_second = busiest_part(demand.profile).requests_per_second;
  demand.slo = LatencySlo{0.95, 2};
  return demand;
}

FleetPlan fleet(const CapacityDemand& demand, const YearDemand& year = {}) {
  return plan_fleet({{"t", {server()}, {}}}, demand, year).value();
}

TEST(Autoscale, KeepsTheTargetForLessThanTheFixedFleet) {
  const FleetPlan plan = fleet(day("3x 9-11"));
  ASSERT_TRUE(plan.autoscale.has_value());
  const AutoscalePlan& scale = *plan.autoscale;
  EXPECT_DOUBLE_EQ(scale.start_seconds, 20);
  EXPECT_TRUE(scale.start_measured);
  EXPECT_EQ(scale.max_replicas, plan.year->rows.back().fleet.bought);
  EXPECT_LT(scale.min_replicas, scale.fixed_machines);
  EXPECT_GT(scale.target_in_flight, 0);
  EXPECT_GE(scale.late_share, 0);
  EXPECT_LE(scale.late_share, 0.05);
  EXPECT_LE(scale.fixed_late_share, 0.05);
  EXPECT_LT(scale.machine_hours, 0.8 * scale.fixed_machine_hours);
  EXPECT_GT(scale.machine_hours, 24 * scale.min_replicas);
  EXPECT_DOUBLE_EQ(scale.fixed_machine_hours, 24 * scale.fixed_machines);
}

// A replica that starts for half an hour comes late to a peak that comes at once.
TEST(Autoscale, ASlowStartIsPaidForWithLateness) {
  YearDemand slow;
  slow.warm_up_seconds = 1800;
  const FleetPlan quick = fleet(day("6x 9-11")), late = fleet(day("6x 9-11"), slow);
  EXPECT_FALSE(late.autoscale->start_measured);
  EXPECT_GT(late.autoscale->late_share, quick.autoscale->late_share);
  EXPECT_GT(late.autoscale->late_share, 0.05);
}

// The metric counts requests, which here are pages of eight lines each.
TEST(Autoscale, ATargetOfPagesCountsPages) {
  CapacityDemand pages = day("3x 9-11");
  const double lines = fleet(pages).autoscale->target_in_flight;
  pages.lines_per_page = {8};
  pages.profile = scale_to_day(pages.profile, 100000);
  pages.daily_requests = 100000;
  pages.requests_per_second = 8 * busiest_part(pages.profile).requests_per_second;
  pages.slo = LatencySlo{0.95, 10};
  const FleetPlan plan = fleet(pages);
  ASSERT_TRUE(plan.autoscale.has_value());
  EXPECT_GT(plan.autoscale->target_in_flight, 1);
  EXPECT_LT(plan.autoscale->target_in_flight, lines);
}

TEST(Autoscale, NoRuleWhereTheNumberNeverChanges) {
  CapacityDemand quiet = day("2x 9-11");
  quiet.profile = scale_to_day(quiet.profile, 40000);
  quiet.daily_requests = 40000;
  quiet.requests_per_second = busiest_part(quiet.profile).requests_per_second;
  YearDemand zones;
  zones.zones = 2;
  EXPECT_FALSE(fleet(quiet, zones).autoscale.has_value());
}

TEST(Autoscale, IsOfAProfileAndSpreadsOverZones) {
  CapacityDemand even = day("3x 9-11");
  even.profile = {};
  EXPECT_FALSE(fleet(even).autoscale.has_value());
  YearDemand zones;
  zones.zones = 3;
  EXPECT_GE(fleet(day("3x 9-11"), zones).autoscale->min_replicas, 3);
}

}  // namespace
}  // namespace ocrtune
