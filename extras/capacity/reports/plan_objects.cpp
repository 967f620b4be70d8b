// YAML by templates; comments above each object say what was simulated with these numbers.
#include <fmt/format.h>

#include "base/text.h"
#include "extras/capacity/reports/plan_writers.h"
#include "reports/export/deployment.h"

namespace ocrtune {
namespace {

constexpr int kLookSeconds = 15, kSettleSeconds = 300;  // as the rule was simulated

// Of the run's Deployment, as export writes it; a table has none.
std::string name_of(const FleetPlan& fleet) {
  const std::string& run = fleet.plan().node.run;
  return run.empty() ? "<name>" : "\"" + object_name(run) + "\"";
}

std::string heading(const FleetPlan& fleet) {
  const AutoscalePlan& scale = *fleet.autoscale;
  const CapacityPlan& plan = fleet.plan();
  std::string text = fmt::format("# ocrtune plan from {}{}, {}\n# A replica starts in {}{}.\n",
                                 plan.node.source, plan.node.inconclusive ? " (INCONCLUSIVE)" : "",
                                 fleet.date, format_duration(scale.start_seconds),
                                 scale.start_measured ? ", as measured" : " (assumed: --warm-up)");
  if (scale.late_share >= 0) {
    text += fmt::format(
        "# A simulated day: {:.3g} % of requests later than {} ms, {:.0f} machine hours; a fixed "
        "fleet of {}: {:.3g} %, {:.0f}.\n",
        100 * scale.late_share, milliseconds_text(plan.demand.slo->seconds), scale.machine_hours,
        scale.fixed_machines, 100 * scale.fixed_late_share, scale.fixed_machine_hours);
  }
  return text +
         "# http_requests_in_flight stands for your server's own metric: requests that it works on "
         "or that wait.\n# Apply hpa.yaml or keda.yaml, never both.\n";
}

// How fast replicas come and go, as it was simulated: all that are missing at once, and fewer only
// after a while. Without a policy four, or as many again, would come each time.
std::string behavior(const AutoscalePlan& scale, const char* margin) {
  return fmt::format(
      "{0}behavior:\n{0}  scaleUp:\n{0}    stabilizationWindowSeconds: 0\n{0}    policies:\n"
      "{0}      - {{type: Pods, value: {1}, periodSeconds: {2}}}\n"
      "{0}  scaleDown:\n{0}    stabilizationWindowSeconds: {3}\n",
      margin, scale.max_replicas, kLookSeconds, kSettleSeconds);
}

}  // namespace

std::string hpa_yaml(const FleetPlan& fleet) {
  const AutoscalePlan& scale = *fleet.autoscale;
  return heading(fleet) + fmt::format(R"(apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {0}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {0}
  minReplicas: {1}
  maxReplicas: {2}
{3}  metrics:
    - type: Pods
      pods:
        metric:
          name: http_requests_in_flight
        target:
          type: AverageValue
          averageValue: {4:.0f}m
)",
                                      name_of(fleet), scale.min_replicas, scale.max_replicas,
                                      behavior(scale, "  "), 1000 * scale.target_in_flight);
}

std::string keda_yaml(const FleetPlan& fleet) {
  const AutoscalePlan& scale = *fleet.autoscale;
  return heading(fleet) + fmt::format(R"(apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {0}
spec:
  scaleTargetRef:
    name: {0}
  pollingInterval: {1}
  minReplicaCount: {2}
  maxReplicaCount: {3}
  advanced:
    horizontalPodAutoscalerConfig:
{4}  triggers:
    - type: prometheus
      metricType: AverageValue
      metadata:
        serverAddress: <http://prometheus:9090>
        query: sum(http_requests_in_flight{{job="ocr"}})
        threshold: "{5:.3g}"
)",
                                      name_of(fleet), kLookSeconds, scale.min_replicas,
                                      scale.max_replicas, behavior(scale, "      "),
                                      scale.target_in_flight);
}

}  // namespace ocrtune
