// What is to be best, and what must hold beside it.
//
// Goals: most samples per second; shortest steps at a percentile; least memory. Constraints on what
// is measured join any goal; constraints on knobs are tuner/space/constraint.h. A model learns one
// number of a trial, its objective, of which more is better.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "trial/reason.h"
#include "trial/trial.h"

namespace ocrtune {

enum class Goal { throughput, latency, memory };

struct Objective {
  Goal goal = Goal::throughput;
  int percentile = 95;                // of the step times: 50, 90, 95 or 99
  double min_samples_per_second = 0;  // 0: any
  double max_step_seconds = 0;        // at `percentile`; 0: any
  std::uint64_t max_peak_bytes = 0;   // 0: any
  Unit rate = Unit::sample_rate;      // what is counted a second
};

// "throughput", "latency", "latency:p99", "memory". usage: lists them.
Result<Objective> parse_objective(const std::string& text);
std::string objective_text(const Objective& objective);  // what parse_objective reads

// Of the goal memory: the least that such a setting must reach of the fastest, unless a rate is
// asked for.
inline constexpr double kNearFastest = 0.9;

// Seconds of a step at the percentile; 0: not known. Without step times, what the rate implies:
// batches of all processes one after the other.
double step_seconds_of(const Trial& trial, const Objective& objective);

// What the speed model learns: samples per second (also for the goal memory) or 1 / step seconds.
// 0: the trial does not tell.
double objective_value_of(const Trial& trial, const Objective& objective);

// Which constraint these numbers break; empty: none. Unknown (0) numbers break none.
Reason broken_constraint(const Objective& objective, double samples_per_second, double step_seconds,
                         double peak_bytes);

// Whether the speed model learns samples per second.
bool learns_rates(const Objective& objective);

// The ratio of two objectives: 12 % slower, steps 12 % longer.
Reason compared(double ratio, Goal goal = Goal::throughput);

}  // namespace ocrtune
