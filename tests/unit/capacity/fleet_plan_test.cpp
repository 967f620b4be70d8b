#include "extras/capacity/fleet_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/table_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

MachineKind kind_of(const std::string& name, double rate, double cost) {
  const std::string csv =
      "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "1,1,1," +
      std::to_string(rate) + ",1,ok,0.01\n";
  MachineKind kind{name, {measure_node(parse_table(csv, "t").value(), "t").value()}, cost};
  if (cost <= 0) kind.cost_per_hour.reset();
  return kind;
}

CapacityDemand load_of(double rate) {
  CapacityDemand demand;
  demand.requests_per_second = rate;
  return demand;
}

TEST(PlanFleet, TheCheapestComesFirstWithItsPriceOfAMillion) {
  const auto plans = plan_fleet({kind_of("cpu", 100, 1), kind_of("gpu", 1000, 4)}, load_of(1850));
  ASSERT_TRUE(plans.ok()) << plans.error().what;
  const KindPlan& gpu = plans->kinds[0];
  EXPECT_EQ(gpu.name, "gpu");
  EXPECT_EQ(gpu.plan.machines.high, 2);
  EXPECT_DOUBLE_EQ(*gpu.cost_per_hour, 8);
  EXPECT_DOUBLE_EQ(*gpu.cost_per_million, 8 / (1850 * 3600.0) * 1e6);
  EXPECT_GE(*plans->kinds[1].cost_per_hour, 19);
}

// 1,150 a second: two of the large ones waste most of the second.
TEST(PlanFleet, AMixFillsWhatWholeMachinesWaste) {
  const auto plans = plan_fleet({kind_of("cpu", 100, 1), kind_of("gpu", 1000, 6)}, load_of(1150));
  ASSERT_TRUE(plans.ok());
  ASSERT_TRUE(plans->mix.has_value());
  const bool large_first = plans->mix->first == "gpu";
  EXPECT_EQ(large_first ? plans->mix->first_machines : plans->mix->second_machines, 1);
  const int small = large_first ? plans->mix->second_machines : plans->mix->first_machines;
  EXPECT_DOUBLE_EQ(plans->mix->cost_per_hour, 6 + small);
  // Their sum carries the load with what each carries at least.
  double carried = 0;
  for (const KindPlan& kind : plans->kinds) {
    carried += sure_rate(kind.plan) * (kind.name == "gpu" ? 1 : small);
  }
  EXPECT_GE(carried, 1150 - 1e-6);
  EXPECT_LT(plans->mix->cost_per_hour, *plans->kinds[0].cost_per_hour);
}

// Against every pair of counts.
TEST(PlanFleet, NoOtherMixIsCheaper) {
  for (const double load : {730.0, 1150.0, 2430.0, 3999.0}) {
    const auto plans =
        plan_fleet({kind_of("cpu", 130, 1), kind_of("gpu", 1000, 6.3)}, load_of(load));
    ASSERT_TRUE(plans.ok());
    double cheapest = *plans->kinds[0].cost_per_hour;
    for (int a = 1; a <= 40; ++a) {
      for (int b = 1; b <= 40; ++b) {
        const CapacityPlan &first = plans->kinds[0].plan, &second = plans->kinds[1].plan;
        if (a * sure_rate(first) + b * sure_rate(second) < load - 1e-6) continue;
        cheapest =
            std::min(cheapest, a * *first.demand.cost_per_hour + b * *second.demand.cost_per_hour);
      }
    }
    const double found = plans->mix ? plans->mix->cost_per_hour : *plans->kinds[0].cost_per_hour;
    EXPECT_NEAR(found, cheapest, 0.011 * cheapest) << load;
  }
}

TEST(PlanFleet, RefusedKindsAreLastAndNoPriceMeansNoOrder) {
  const auto plans = plan_fleet({kind_of("slow", 1, 1), kind_of("fast", 1000, 4)}, load_of(900));
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->kinds[0].name, "fast");
  EXPECT_TRUE(plans->kinds[1].plan.refused());
  const auto free = plan_fleet({kind_of("b", 100, 0), kind_of("a", 1000, 0)}, load_of(900));
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->kinds[0].name, "b");
  EXPECT_FALSE(free->mix);
}

TEST(PlanFleet, WantsPricesForAllAndTheSameWork) {
  const auto priced = plan_fleet({kind_of("a", 100, 0), kind_of("b", 100, 2)}, load_of(50));
  EXPECT_THAT(priced.error().what, HasSubstr("a=PRICE"));
  MachineKind pages = kind_of("c", 100, 2);
  pages.settings[0].unit = "requests";
  MachineKind run = kind_of("run", 100, 2);
  run.settings[0].work = RunWork::recognises;  // a table does not say
  EXPECT_TRUE(plan_fleet({kind_of("b", 100, 2), run}, load_of(50)).ok());
  const auto mixed = plan_fleet({kind_of("b", 100, 2), pages}, load_of(50));
  EXPECT_THAT(mixed.error().what, HasSubstr("cannot be planned side by side"));
}

TEST(PlanFleet, AJobIsPricedAsAWhole) {
  CapacityDemand demand;
  demand.samples = 1e6;
  demand.deadline_seconds = 1e5;
  const auto plans = plan_fleet({kind_of("a", 100, 1), kind_of("b", 1000, 4)}, demand);
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->kinds[0].name, "b");
  EXPECT_NEAR(*plans->kinds[0].cost_per_million, 4 * 1000 / 3600.0, 0.05);
  EXPECT_FALSE(plans->mix);
}

// A count that bursts made necessary is not undone by the mean rate of one machine.
TEST(SureRate, OfATraceIsThatOfItsCount) {
  CapacityPlan plan;
  plan.demand = load_of(1000);
  plan.machines.high = 6;
  plan.machine_rate = {200, 190, 210};
  EXPECT_DOUBLE_EQ(sure_rate(plan), 190);
  plan.machines.high = 10;
  plan.demand.trace = {0, 1, 2};
  EXPECT_DOUBLE_EQ(sure_rate(plan), 100);
}

}  // namespace
}  // namespace ocrtune
