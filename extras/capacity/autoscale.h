// An autoscaling rule for the load of a profile: replicas by requests in flight, tried against a
// simulated day of that load.
//
// The rule is Kubernetes': every 15 s as many replicas as requests in flight over the target of
// one, fewer only when five minutes agreed. The target is what a replica holds in flight at the
// highest share of its sure rate with which the simulated day keeps the latency target: a replica
// that is still starting serves nothing. Replicas draw from one line, as behind a balancer by
// fewest open requests.
#pragma once

#include <optional>

#include "extras/capacity/year.h"

namespace ocrtune {

struct AutoscalePlan {
  int min_replicas = 1, max_replicas = 1;
  double target_in_flight = 1;  // of a replica
  double start_seconds = 0;     // of a replica, as simulated
  bool start_measured = false;
  int fixed_machines = 1;  // of the fleet that it is compared with
  // Of the simulated day; late: above the latency target, below 0 without one or not simulated.
  double machine_hours = 0, fixed_machine_hours = 0;
  double late_share = -1, fixed_late_share = -1;
};

// Of a plan for inference with a profile that was not refused; none where the quietest minute takes
// as many machines as the busiest. `year` may be null.
std::optional<AutoscalePlan> plan_autoscale(const CapacityPlan& plan, const YearPlan* year);

}  // namespace ocrtune
