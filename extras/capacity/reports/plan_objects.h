// Kubernetes objects of an autoscaling rule (autoscale.h): a HorizontalPodAutoscaler, or
// KEDA's ScaledObject, which makes one. Names in <...> are the user's to fill in.
#pragma once

#include <string>

#include "extras/capacity/fleet_plan.h"

namespace ocrtune {

// Both take the requests in flight of all replicas from Prometheus; apply one of them.
std::string hpa_yaml(const FleetPlan& fleet);
std::string keda_yaml(const FleetPlan& fleet);

}  // namespace ocrtune
