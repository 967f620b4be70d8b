// Two runs side by side: what differs between them, and which settings became faster or slower.
//
// Rates are those of each run's own fit (tuner/verdict/rate_fit.h): whole trials with the noise
// between them, for windows of one trial are alike and prove nothing of another. A setting with
// fewer than four trials in either run is undecided; alike is one whose whole interval lies within
// 2 %. Of the settings that are called faster or slower at most 5 % are expected to be so by chance
// (Benjamini and Hochberg 1995).
#pragma once

#include <string>
#include <vector>

#include "tuner/store/run_record.h"

namespace ocrtune {

enum class Change { faster, slower, alike, undecided };

struct SettingChange {
  Knobs knobs;
  Interval before, after;   // samples per second
  Interval ratio;           // after / before
  double p = 1;             // adjusted for the number of settings
  bool from_trials = true;  // false: fewer than four trials in a run
  Change change = Change::alike;
};

struct Difference {
  std::string what;  // "memory limit", "oneDNN", "usable CPUs"
  std::string before, after;
};

struct RunComparison {
  std::string before_id, after_id;
  bool same_machine = false;            // equal fingerprints
  std::vector<Difference> differences;  // of machine, versions and options
  std::vector<SettingChange> settings;  // ran in both, most changed first
  Interval overall_ratio;               // geometric mean over `settings`: they are drawn anew,
                                        // each from its own interval
  Interval best_ratio;                  // rate(recommended after) / rate(recommended before)
  std::vector<Reason> verdict;          // a few sentences
};

// usage: the two measure different things, so that no ratio of rates means anything.
Status comparable(const RunRecord& before, const RunRecord& after);

// Both runs judged (RunRecord::result filled).
RunComparison compare_runs(const RunRecord& before, const RunRecord& after);

}  // namespace ocrtune
