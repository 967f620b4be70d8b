#include "reports/plan/plan_objects.h"

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr int kSettleSeconds = 300;  // as the rule was simulated

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
  return text;
}

}  // namespace

std::string hpa_yaml(const FleetPlan& fleet) {
  const AutoscalePlan& scale = *fleet.autoscale;
  return heading(fleet) + fmt::format(R"(apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: <name>
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: <name>
  minReplicas: {}
  maxReplicas: {}
  behavior:
    scaleUp:
      stabilizationWindowSeconds: 0
    scaleDown:
      stabilizationWindowSeconds: {}
  metrics:
    - type: Pods
      pods:
        metric:
          name: http_requests_in_flight
        target:
          type: AverageValue
          averageValue: {:.0f}m
)",
                                      scale.min_replicas, scale.max_replicas, kSettleSeconds,
                                      1000 * scale.target_in_flight);
}

std::string keda_yaml(const FleetPlan& fleet) {
  const AutoscalePlan& scale = *fleet.autoscale;
  return heading(fleet) + fmt::format(R"(apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: <name>
spec:
  scaleTargetRef:
    name: <name>
  pollingInterval: 15
  minReplicaCount: {}
  maxReplicaCount: {}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleDown:
          stabilizationWindowSeconds: {}
  triggers:
    - type: prometheus
      metricType: AverageValue
      metadata:
        serverAddress: <http://prometheus:9090>
        query: sum(http_requests_in_flight{{job="ocr"}})
        threshold: "{:.3g}"
)",
                                      scale.min_replicas, scale.max_replicas, kSettleSeconds,
                                      scale.target_in_flight);
}

}  // namespace ocrtune
