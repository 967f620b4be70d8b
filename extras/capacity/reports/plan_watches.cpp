// Queries that give a series while an assumption of the plan does not hold.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "extras/capacity/reports/plan_builder.h"

namespace ocrtune {
namespace {

constexpr double kBelow95 = 1.645;  // deviations that 95 % stay below

class Watches {
 public:
  Watches(const FleetPlan& fleet, PlanDocument& out)
      : fleet_(fleet), plan_(fleet.plan()), out_(out) {}

  void add_all() {
    const bool service = plan_.demand.inference();
    service ? watch_service() : watch_job();
    if (plan_.node.peak_bytes > 0) {
      above("memory stays as measured", "OcrtuneMemoryAbovePlan", "ocrtune_run_memory_bytes",
            fmt::format("{:.0f}", 1.1 * static_cast<double>(plan_.node.peak_bytes)));
    }
    out_.query_note =
        service
            ? phrase(
                  "http_requests_total, http_request_duration_seconds and job=\"ocr\" stand for "
                  "your server's own names; ocrtune_run_* come from ocrtune run --prometheus.")
            : phrase("ocrtune_run_* come from ocrtune run --prometheus.");
  }

 private:
  // The assumption is broken while the expression is above, or below, the limit.
  void above(const char* assumption, const char* alert, std::string expression, std::string limit) {
    out_.watches.push_back(
        {phrase(assumption), alert, std::move(expression), ">", std::move(limit)});
  }
  void below(const char* assumption, const char* alert, std::string expression, std::string limit) {
    out_.watches.push_back(
        {phrase(assumption), alert, std::move(expression), "<", std::move(limit)});
  }

  void watch_service() {
    const CapacityDemand& demand = plan_.demand;
    const double lines = mean_requests(demand.lines_per_page);
    const std::string arrivals = "sum(rate(http_requests_total[1m]))";
    above("the load is at most the peak", "OcrtuneLoadAbovePeak", arrivals,
          fmt::format("{:.4g}", demand.requests_per_second / lines));
    if (!plan_.refused()) {
      above("each machine gets no more than it carries", "OcrtuneMachineOverloaded",
            arrivals + " / sum(up{job=\"ocr\"})", fmt::format("{:.4g}", sure_rate(plan_) / lines));
      // Replicas that follow the load are fewer by night.
      below("enough machines are up", "OcrtuneTooFewMachines", "sum(up{job=\"ocr\"})",
            fmt::format("{:.0f}",
                        fleet_.autoscale ? fleet_.autoscale->min_replicas : plan_.machines.high));
    }
    if (demand.slo) {
      above("the latency target is met", "OcrtuneLatencyTargetMissed",
            fmt::format("histogram_quantile({:g}, sum by (le) "
                        "(rate(http_request_duration_seconds_bucket[5m])))",
                        demand.slo->percentile),
            fmt::format("{:g}", demand.slo->seconds));
    }
    if (!fleet_.year) return;
    below("a machine is up as often as was taken", "OcrtuneMachinesUpTooSeldom",
          "avg(avg_over_time(up{job=\"ocr\"}[30d]))",
          fmt::format("{:g}", fleet_.year->demand.machine_availability.value));
    above("the load grows no faster", "OcrtuneLoadGrowsFaster",
          "sum(rate(http_requests_total[7d])) / sum(rate(http_requests_total[7d] offset 28d))",
          fmt::format("{:g}", 1 + fleet_.year->demand.growth));
  }

  void watch_job() {
    const Interruptions& stops = plan_.demand.interruptions;
    const double restart = stops.restart_seconds > 0 ? stops.restart_seconds
                                                     : std::max(60.0, plan_.node.start_seconds);
    above("the job goes on", "OcrtuneJobStands",
          "time() - ocrtune_run_last_progress_timestamp_seconds",
          fmt::format("{:.0f}", 3 * restart + stops.checkpoint_seconds));
    below("the job keeps its pace", "OcrtuneJobSlow",
          "avg_over_time(ocrtune_run_progress_lines_per_second[1h])",
          fmt::format("{:.3g} * quantile_over_time(0.5, ocrtune_run_progress_lines_per_second[1d])",
                      plan_.machine_rate.low / plan_.machine_rate.median));
    const double machines = plan_.trains && !plan_.refused() ? plan_.machines.high : 1;
    const double daily = 86400 * machines * stops.per_second();
    above("interruptions are no more frequent", "OcrtuneManyInterruptions",
          "increase(ocrtune_run_restarts_total[1d])",
          fmt::format("{:.0f}", std::ceil(daily + kBelow95 * std::sqrt(daily))));
  }

  const FleetPlan& fleet_;
  const CapacityPlan& plan_;
  PlanDocument& out_;
};

}  // namespace

void add_watches(const FleetPlan& fleet, PlanDocument& document) {
  Watches(fleet, document).add_all();
}

}  // namespace ocrtune
