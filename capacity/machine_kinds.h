// The same demand on several kinds of machine: what each costs, and the cheapest mix of them.
//
// Each kind is planned by itself. A mix shares a load among two kinds by what a machine of each
// carries with 95 %, so that the sum is enough with 95 % or more. A third kind gains next to
// nothing where one number, the rate, is shared, and is not looked at; nor is a mix for a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capacity/capacity.h"

namespace ocrtune {

struct MachineKind {
  std::string name;                       // as the user named it; unique
  std::vector<NodeMeasurement> settings;  // not empty
  std::optional<double> cost_per_hour;    // of one machine
};

struct KindPlan {
  std::string name, machine;               // "gpu.db", "2 x NVIDIA H100"
  CapacityPlan plan;                       // with its answer in words
  std::optional<double> cost_per_hour;     // of the advised count; of a job while it runs
  std::optional<double> cost_per_million;  // of what was asked: pages, line images, images
};

struct MachineMix {
  std::string first, second;  // names
  int first_machines = 0, second_machines = 0;
  double cost_per_hour = 0, cost_per_million = 0;
};

struct KindsPlan {
  std::vector<KindPlan> kinds;    // cheapest first; without prices as they came; refused ones last
  std::optional<MachineMix> mix;  // cheaper than any kind alone
};

// What one machine carries with 95 %, of a plan for inference that was not refused.
double sure_rate(const CapacityPlan& plan);

// usage: kinds that measured other things, or prices for some of them only.
Result<KindsPlan> plan_kinds(const std::vector<MachineKind>& kinds, const CapacityDemand& demand);

}  // namespace ocrtune
