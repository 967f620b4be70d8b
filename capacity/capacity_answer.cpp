#include "capacity/capacity_answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::string grouped(double value) {  // 12000 -> "12,000"
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string machines(double count) { return grouped(count) + " " + noun_after(count, "machine"); }

const CapacityRow* row_of(const CapacityPlan& plan, double count) {
  const auto found = std::find_if(plan.rows.begin(), plan.rows.end(), [&](const CapacityRow& row) {
    return row.machines == static_cast<int>(count);
  });
  return found == plan.rows.end() ? nullptr : &*found;
}

// " (95 % sure; 71 would do with 54 %)": how sure the count is, and what the median would need.
std::string certainty(const CapacityPlan& plan) {
  const CapacityRow* wanted = row_of(plan, plan.machines.high);
  const CapacityRow* middle = row_of(plan, plan.machines.median);
  if (wanted == nullptr || middle == nullptr) return "";
  const double sure = 0.5 * (1 + plan.demand.confidence);
  if (wanted->probability < sure - 0.01) {
    return fmt::format(" ({:.0f} % sure: measurements back no more machines)",
                       100 * wanted->probability);
  }
  if (middle == wanted) return "";
  return fmt::format(" ({:.0f} % sure; {} would do with {:.0f} %)", 100 * sure,
                     grouped(plan.machines.median), 100 * middle->probability);
}

std::string cost_words(const CapacityPlan& plan) {
  const CapacityRow* row = row_of(plan, plan.machines.high);
  if (row == nullptr || !row->cost_per_hour) return "";
  if (row->cost)
    return fmt::format(" Cost: {:.2f} an hour, {:.2f} in all.", *row->cost_per_hour, *row->cost);
  return fmt::format(" Cost: {:.2f} an hour, {:.2f} with the spare one.", *row->cost_per_hour,
                     plan.spare_machines * plan.demand.cost_per_hour.value_or(0));
}

// When too few machines are too few: " at the 14:00 peak (13:00 to 16:00)".
std::string peak_words(const CapacityPlan& plan, int count) {
  const CapacityDemand& demand = plan.demand;
  if (demand.peak_time.empty()) {
    return !demand.trace.empty()       ? " in the trace"
           : demand.daily_requests > 0 ? " at the peak hour"
                                       : "";
  }
  std::string text = " at the " + demand.peak_time + " peak";
  if (demand.profile.parts.empty()) return text;
  const Interval& each = demand.slo ? plan.served_rate : plan.machine_rate;
  const std::string times =
      times_above(demand.profile, count * each.median / mean_requests(demand.lines_per_page));
  return times.empty() ? text : text + " (" + times + ")";
}

// What happens with one machine fewer than the median machine would need.
std::string fewer_words(const CapacityPlan& plan) {
  const CapacityRow* row = row_of(plan, plan.machines.median - 1);
  if (row == nullptr) return "";
  const std::string start =
      fmt::format(" {} {} not enough{}: ", machines(row->machines),
                  row->machines == 1 ? "is" : "are", peak_words(plan, row->machines));
  if (plan.demand.slo && row->latency_seconds <= 0) {  // measured, not simulated
    return start +
           fmt::format("the load is {:.0f} % of what they serve in time.", 100 * row->busy_share);
  }
  if (!plan.demand.slo || !std::isfinite(row->latency_seconds)) {
    return start + fmt::format("at {:.0f} % load the queue would grow without bound.",
                               100 * row->busy_share);
  }
  return start + fmt::format("p{:g} would be {} ms.", 100 * plan.demand.slo->percentile,
                             milliseconds_text(row->latency_seconds));
}

std::string load_words(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  const double lines = mean_requests(demand.lines_per_page);
  std::string text = demand.lines_per_page.empty()
                         ? rate_words(demand.requests_per_second, plan.unit)
                         : fmt::format("{} ({:.3g} {} each)",
                                       rate_words(demand.requests_per_second / lines, "pages"),
                                       lines, noun_after(lines, "line image"));
  if (demand.daily_requests > 0) {
    text += fmt::format(" (the peak of {} a day at {:.3g} times the mean)",
                        grouped(demand.daily_requests), demand.peak_factor);
  }
  if (!demand.trace.empty()) {
    text += fmt::format(" (the busiest minute of the trace, {})",
                        demand.peak_time.empty() ? format_duration(demand.busiest_seconds) + " in"
                                                 : "at " + demand.peak_time);
  }
  if (demand.slo) text += " with " + slo_target(*demand.slo);
  return text;
}

std::string inference_words(const CapacityPlan& plan) {
  return fmt::format("You need {} of {} for {}{}.{} {} survive the loss of one.{}",
                     machines(plan.machines.high), plan.machine_kind, load_words(plan),
                     certainty(plan), fewer_words(plan), machines(plan.spare_machines),
                     cost_words(plan));
}

std::string time_words(double seconds) {
  return std::isfinite(seconds) ? format_duration(seconds) : "more than can be waited for";
}

// "within 24 h 00 min", "by 2026-11-27 18:00, in 2 d 03 h"
std::string deadline_words(const CapacityDemand& demand) {
  const std::string span = format_duration(demand.deadline_seconds);
  return demand.deadline_time.empty() ? "within " + span
                                      : fmt::format("by {}, in {}", demand.deadline_time, span);
}

std::string work_words(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  if (plan.trains && demand.epochs == 1) {
    return fmt::format("to train {} images", grouped(demand.total_samples()));
  }
  if (plan.trains) {
    return fmt::format("to train {} images ({:g} epochs)", grouped(demand.total_samples()),
                       demand.epochs);
  }
  if (demand.lines_per_page.empty()) {
    return fmt::format("to read {} {}", grouped(demand.total_samples()), plan.unit);
  }
  const double lines = mean_requests(demand.lines_per_page);
  return fmt::format("to read {} pages ({:.3g} {} each)", grouped(demand.samples * demand.epochs),
                     lines, noun_after(lines, "line image"));
}

std::string job_words(const CapacityPlan& plan) {
  const double count = plan.machines.high;
  std::string text = fmt::format("You need {} of {} {} {}{}", machines(count), plan.machine_kind,
                                 work_words(plan), deadline_words(plan.demand), certainty(plan));
  const CapacityRow* row = row_of(plan, count);
  if (row != nullptr) {
    text += fmt::format(": about {} ({} to {})", time_words(row->seconds.median),
                        time_words(row->seconds.low), time_words(row->seconds.high));
  }
  text += ".";
  if (row != nullptr && plan.demand.interruptions.expected()) {
    const std::string stops = fmt::format("{:.2g}", row->interruptions);
    text +=
        fmt::format(" About {} {} expected; {:.0f} % of the time is lost.", stops,
                    stops == "1" ? "interruption is" : "interruptions are", 100 * row->lost_share);
  }
  if (const CapacityRow* fewer = row_of(plan, plan.machines.median - 1)) {
    text += fmt::format(" {} would take {}.", machines(fewer->machines),
                        time_words(fewer->seconds.median));
  }
  return text + cost_words(plan);
}

}  // namespace

std::string rate_words(double per_second, std::string_view unit) {
  if (per_second >= 1000) return fmt::format("{} {}/s", grouped(per_second), unit);
  if (per_second >= 10) return fmt::format("{:.4g} {}/s", per_second, unit);
  if (per_second * 60 >= 10) return fmt::format("{:.4g} {}/min", per_second * 60, unit);
  return fmt::format("{:.4g} {}/h", per_second * 3600, unit);
}

std::string capacity_answer(const CapacityPlan& plan) {
  if (plan.refused) return "No answer: " + plan.refusal + ".";
  const std::string text = plan.demand.inference() ? inference_words(plan) : job_words(plan);
  return plan.extrapolated ? text + " [EXTRAPOLATED]" : text;
}

Result<CapacityPlan> answer_capacity(const std::vector<NodeMeasurement>& settings,
                                     const CapacityDemand& demand) {
  auto plan = plan_capacity(settings, demand);
  if (plan) plan->answer = capacity_answer(*plan);
  return plan;
}

}  // namespace ocrtune
