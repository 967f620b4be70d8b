// How a job's settings are searched: what the user asks of the search, stored beside the job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trial/knobs.h"
#include "tuner/models/launch_gate.h"
#include "tuner/space/objective.h"

namespace ocrtune {

inline constexpr const char* kBaselineGiven = "given";
inline constexpr const char* kBaselineRead = "read from the command and its config";
inline constexpr const char* kBaselineFirst = "the first value of each list";
inline constexpr const char* kBaselineUsual = "a usual value of each knob";
inline constexpr const char* kBaselinePlain = "one process on all usable CPUs";
inline constexpr const char* kBaselineGpu = "one process on one GPU";
inline constexpr const char* kBaselineWithin = "near one process on all usable CPUs, in your lists";

struct SearchRequest {
  std::map<std::string, std::vector<std::string>> axes;  // knob -> values, as the user set them
  // Axes of one value that nobody listed: knobs that stand in the command as they are, and knobs
  // that are no matter of it. All others are varied: set to each value, be it one.
  std::set<std::string> fixed, absent;
  std::vector<std::string> constraints;  // "nproc*threads<=16"
  Objective objective;                   // what is best, and the constraints on what is measured
  Knobs baseline;                        // the setting that the user has now
  std::string baseline_source;           // where it comes from: one of kBaseline...
  std::vector<Knobs> hints;              // what an earlier run found fastest, best first
  double budget_seconds = 300;
  double trial_seconds = 1.5;            // measuring time of one trial
  double soak_seconds = -1;              // of the winner; -1: as long as suits
  double learning_seconds = 0;           // of --prove-learning, after the search
  std::uint64_t memory_limit_bytes = 0;  // the machine's, or --memory-limit
  double memory_margin = kMemoryMargin;  // share of the limit that stays free
  std::uint64_t seed = 1;
  std::string policy = "measured";  // measured | cautious (the rules of thumb apply)

  // Values of the knob are listed: it is varied.
  bool lists(const std::string& name) const {
    return axes.contains(name) && !fixed.contains(name) && !absent.contains(name);
  }

  // Knobs that no list of values can turn as the command stands. Threads reach any program by its
  // environment.
  std::set<std::string> out_of_reach() const {
    std::set<std::string> names = fixed;
    names.insert(absent.begin(), absent.end());
    names.erase("threads");
    return names;
  }

  // The user's own setting is not known.
  bool baseline_guessed() const {
    return baseline_source == kBaselineFirst || baseline_source == kBaselineUsual ||
           baseline_source == kBaselinePlain || baseline_source == kBaselineWithin ||
           baseline_source == kBaselineGpu;
  }

  // Of a command that says nothing of its own setting, while `axes` are the user's.
  const char* first_source() const {
    const bool lists = std::any_of(axes.begin(), axes.end(),
                                   [](const auto& axis) { return axis.second.size() > 1; });
    return lists ? kBaselineFirst : kBaselineUsual;
  }
};

}  // namespace ocrtune
