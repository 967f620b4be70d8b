// ocrtune plan, and what it is asked, from its flags.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "extras/capacity/capacity.h"
#include "extras/capacity/year.h"

namespace ocrtune {

CommandRun declare_plan(Flags& cli);

struct DemandFlags {
  std::string rate, slo, daily, samples, pages, epochs, deadline, cost;
  std::string users, pages_each, think;
  std::string peak, trace, profile, lines_per_page, balancer;
  std::string interruptions, checkpoint_every, restart;
  std::string growth, availability, machine_availability, warm_up, zones;

  bool asks() const;  // for anything at all
};

void declare_demand(Flags& cli, DemandFlags& flags);

// usage: names the flag and says what is wanted; also the errors of the files that are read.
Result<CapacityDemand> demand_of(const DemandFlags& flags);
// None where no flag of the year was given.
Result<std::optional<YearDemand>> year_of(const DemandFlags& flags, const CapacityDemand& demand);

}  // namespace ocrtune
