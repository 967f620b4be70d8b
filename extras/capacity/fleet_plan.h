// The whole answer: the demand on one or several kinds of machine, what each costs and the cheapest
// mix of them; the year ahead and an autoscaling rule of the first of them.
//
// Each kind is planned by itself. A mix shares a load among two kinds by what a machine of each
// carries with 95 %, so that the sum is enough with 95 % or more. A third kind gains next to
// nothing where one number, the rate, is shared, and is not looked at; nor is a mix for a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "extras/capacity/autoscale.h"
#include "extras/capacity/capacity.h"
#include "extras/capacity/store_back_test.h"
#include "extras/capacity/year.h"

namespace ocrtune {

struct MachineKind {
  std::string name;                       // as the user named it; unique
  std::vector<NodeMeasurement> settings;  // not empty
  std::optional<double> cost_per_hour;    // of one machine
};

struct KindPlan {
  std::string name, machine;  // "gpu.db", "2 x NVIDIA H100"
  CapacityPlan plan;
  std::optional<double> cost_per_hour;     // of the advised count; of a job while it runs
  std::optional<double> cost_per_million;  // of what was asked: pages, line images, images
};

struct MachineMix {
  std::string first, second;  // names
  int first_machines = 0, second_machines = 0;
  double cost_per_hour = 0, cost_per_million = 0;
};

struct FleetPlan {
  std::vector<KindPlan> kinds;    // cheapest first; without prices as they came; refused ones last
  std::optional<MachineMix> mix;  // cheaper than any kind alone
  // Of the first kind, where they were asked for and it was not refused.
  std::optional<YearPlan> year;
  std::optional<AutoscalePlan> autoscale;
  std::optional<std::vector<StoreBackTest>> back_test;
  std::string command_line, date;  // as typed; of today, "2026-11-22"

  const CapacityPlan& plan() const { return kinds.front().plan; }
};

// `ahead`: none where no year was asked for. usage: kinds that measured other things, or prices for
// some of them only.
Result<FleetPlan> plan_fleet(const std::vector<MachineKind>& kinds, const CapacityDemand& demand,
                             const std::optional<YearDemand>& ahead = std::nullopt);

}  // namespace ocrtune
