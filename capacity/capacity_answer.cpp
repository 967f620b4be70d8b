#include "capacity/capacity_answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

std::string grouped(double value) {  // 12000 -> "12,000"
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string nodes(double count) {
  return fmt::format("{} node{}", grouped(count), count == 1 ? "" : "s");
}

std::string count_words(const CapacityPlan& plan) {
  const MachineCount& count = plan.machines;
  std::string text = fmt::format("{} of {}", nodes(count.median), plan.machine_kind);
  if (count.low != count.high) {
    text += fmt::format(" ({}-{} at {:.0f} %)", grouped(count.low), grouped(count.high),
                        100 * plan.demand.confidence);
  }
  return text;
}

const CapacityRow* row_of(const CapacityPlan& plan, double machines) {
  const auto found = std::find_if(plan.rows.begin(), plan.rows.end(), [&](const CapacityRow& row) {
    return row.machines == static_cast<int>(machines);
  });
  return found == plan.rows.end() ? nullptr : &*found;
}

std::string cost_words(const CapacityPlan& plan) {
  const CapacityRow* row = row_of(plan, plan.machines.median);
  if (row == nullptr || !row->cost_per_hour) return "";
  std::string text = fmt::format("; cost {:.2f} an hour", *row->cost_per_hour);
  if (row->cost) text += fmt::format(", {:.2f} in all", *row->cost);
  return text;
}

// When too few machines are too few: " at the 14:00 peak (13:00 to 16:00)".
std::string peak_words(const CapacityPlan& plan, int machines) {
  const CapacityDemand& demand = plan.demand;
  if (demand.peak_time.empty()) {
    return !demand.trace.empty()       ? " in the trace"
           : demand.daily_requests > 0 ? " at the peak hour"
                                       : "";
  }
  std::string text = " at the " + demand.peak_time + " peak";
  if (demand.profile.parts.empty()) return text;
  const Interval& each = demand.promise ? plan.served_rate : plan.machine_rate;
  const std::string times = times_above(demand.profile, machines * each.median);
  return times.empty() ? text : text + " (" + times + ")";
}

std::string fewer_words(const CapacityPlan& plan) {
  const CapacityRow* row = row_of(plan, plan.machines.median - 1);
  if (row == nullptr) return "";
  const std::string peak = peak_words(plan, row->machines);
  if (!plan.demand.promise) {
    return fmt::format("; at {} the line grows{} ({:.0f} % of what they do)", nodes(row->machines),
                       peak, 100 * row->busy_share);
  }
  if (row->latency_seconds <= 0) {  // measured under the promise, not simulated
    return fmt::format("; at {} the promise breaks{} ({:.0f} % of what they can keep it for)",
                       nodes(row->machines), peak, 100 * row->busy_share);
  }
  if (!std::isfinite(row->latency_seconds)) {
    return fmt::format("; at {} the promise breaks{}: the line grows without end",
                       nodes(row->machines), peak);
  }
  return fmt::format("; at {} the promise breaks{} (p{:g} {:.3g} ms)", nodes(row->machines), peak,
                     100 * plan.demand.promise->percentile, 1e3 * row->latency_seconds);
}

std::string inference_words(const CapacityPlan& plan) {
  const double count = plan.machines.median;
  std::string text = fmt::format("{} {} {}", count_words(plan), count == 1 ? "does" : "do",
                                 rate_words(plan.demand.requests_per_second));
  if (plan.demand.daily_requests > 0) {
    text += fmt::format(" (the peak of {} a day at {:.3g} times the mean)",
                        grouped(plan.demand.daily_requests), plan.demand.peak_factor);
  }
  if (!plan.demand.trace.empty()) {
    text += fmt::format(" (the busiest minute of the trace, {})",
                        plan.demand.peak_time.empty()
                            ? format_duration(plan.demand.busiest_seconds) + " in"
                            : "at " + plan.demand.peak_time);
  }
  if (plan.demand.promise) text += " with " + promise_text(*plan.demand.promise);
  text += fewer_words(plan);
  return text + fmt::format("; {} outlast the loss of one (N+1)", nodes(plan.spare_machines)) +
         cost_words(plan);
}

std::string training_words(const CapacityPlan& plan) {
  const double count = plan.machines.median;
  std::string text =
      fmt::format("{} {} {} images ({:g} epochs) within {}", count_words(plan),
                  count == 1 ? "trains" : "train", grouped(plan.demand.total_samples()),
                  plan.demand.epochs, format_duration(plan.demand.deadline_seconds));
  if (const CapacityRow* row = row_of(plan, count)) {
    text += fmt::format(": about {} ({} to {})", format_duration(row->seconds.median),
                        format_duration(row->seconds.low), format_duration(row->seconds.high));
  }
  if (const CapacityRow* row = row_of(plan, count - 1)) {
    text += fmt::format("; {} would take {}", nodes(row->machines),
                        format_duration(row->seconds.median));
  }
  return text + cost_words(plan);
}

}  // namespace

std::string rate_words(double per_second) {
  if (per_second >= 1000) return grouped(per_second) + " images/s";
  if (per_second >= 10) return fmt::format("{:.4g} images/s", per_second);
  if (per_second * 60 >= 10) return fmt::format("{:.4g} images/min", per_second * 60);
  return fmt::format("{:.4g} images/h", per_second * 3600);
}

std::string capacity_answer(const CapacityPlan& plan) {
  if (plan.refused) return "No answer: " + plan.refusal + ".";
  const std::string text = plan.demand.inference() ? inference_words(plan) : training_words(plan);
  return text + (plan.extrapolated ? " [EXTRAPOLATED]." : ".");
}

Result<CapacityPlan> answer_capacity(const NodeMeasurement& node, const CapacityDemand& demand) {
  auto plan = plan_capacity(node, demand);
  if (plan) plan->answer = capacity_answer(*plan);
  return plan;
}

}  // namespace ocrtune
