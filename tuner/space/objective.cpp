// The table of goals, and the one number of a trial that a model learns of each. Memory is no such
// number: its model learns rates, and the choice weighs the peaks.
#include "tuner/space/objective.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

struct GoalRow {
  const char* name;
  Goal goal;
  ReasonCode more;  // what a larger objective is called
  ReasonCode less;
};

constexpr GoalRow kGoals[] = {
    {"throughput", Goal::throughput, ReasonCode::faster, ReasonCode::slower},
    {"latency", Goal::latency, ReasonCode::steps_shorter, ReasonCode::steps_longer},
    {"memory", Goal::memory, ReasonCode::faster, ReasonCode::slower},
};

const GoalRow& row_of(Goal goal) {
  for (const GoalRow& row : kGoals) {
    if (row.goal == goal) return row;
  }
  return kGoals[0];
}

}  // namespace

Result<Objective> parse_objective(const std::string& text) {
  Objective objective;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  bool known = false;
  for (const GoalRow& row : kGoals) {
    if (name != row.name) continue;
    objective.goal = row.goal;
    known = true;
  }
  if (known && colon != std::string::npos) {
    known = false;
    for (const int percentile : {50, 90, 95, 99}) {
      if (text.substr(colon) != fmt::format(":p{}", percentile)) continue;
      objective.percentile = percentile;
      known = objective.goal == Goal::latency;
    }
  }
  if (known) return objective;
  return Error{
      ErrorKind::usage,
      "'" + text + "' is none of throughput, latency, latency:p50 (p90, p95, p99) and memory"};
}

std::string objective_text(const Objective& objective) {
  if (objective.goal != Goal::latency) return row_of(objective.goal).name;
  return fmt::format("latency:p{}", objective.percentile);
}

double step_seconds_of(const Trial& trial, const Objective& objective) {
  if (!trial.ok()) return 0;
  if (trial.latency.steps > 0) {
    switch (objective.percentile) {
      case 50:
        return trial.latency.p50_seconds;
      case 90:
        return trial.latency.p90_seconds;
      case 99:
        return trial.latency.p99_seconds;
      default:
        return trial.latency.p95_seconds;
    }
  }
  if (!(trial.samples_per_second > 0)) return 0;
  // No step was timed: the mean stands for the percentile.
  return static_cast<double>(trial.knobs.nproc) * trial.knobs.batch / trial.samples_per_second;
}

double objective_value_of(const Trial& trial, const Objective& objective) {
  if (!trial.ok()) return 0;
  if (objective.goal == Goal::latency) {
    const double seconds = step_seconds_of(trial, objective);
    return seconds > 0 ? 1 / seconds : 0;
  }
  return trial.samples_per_second;
}

bool learns_rates(const Objective& objective) {
  return objective.goal == Goal::throughput || objective.goal == Goal::memory;
}

Reason broken_constraint(const Objective& objective, double samples_per_second, double step_seconds,
                         double peak_bytes) {
  if (samples_per_second > 0 && samples_per_second < objective.min_samples_per_second) {
    return reason<ReasonCode::rate_too_low>(Number{samples_per_second, objective.rate},
                                            as_rate(objective.min_samples_per_second));
  }
  if (objective.max_step_seconds > 0 && step_seconds > objective.max_step_seconds) {
    return reason<ReasonCode::steps_too_long>(counted(objective.percentile),
                                              in_seconds(step_seconds),
                                              in_seconds(objective.max_step_seconds));
  }
  const auto most = static_cast<double>(objective.max_peak_bytes);
  if (most > 0 && peak_bytes > most) {
    return reason<ReasonCode::peak_too_high>(in_bytes(peak_bytes), in_bytes(most));
  }
  return {};
}

Reason compared(double ratio, Goal goal) {
  const GoalRow& row = row_of(goal);
  // A step that takes 1 / 0.8 of the time is 25 % longer, not 20 %.
  const double told = goal == Goal::latency && ratio > 0 ? 2 - 1 / ratio : ratio;
  const double percent = 100 * (told - 1);
  // It would be printed as 0 %.
  if (std::fabs(percent) < 0.5) return reason<ReasonCode::as_fast>();
  if (goal == Goal::throughput && percent <= -99.5) return reason<ReasonCode::far_slower>();
  return {percent < 0 ? row.less : row.more, {decimal(std::fabs(percent), 0)}};
}

}  // namespace ocrtune
