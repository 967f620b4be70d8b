// Two runs side by side: what differs between them, and which settings became faster or slower.
//
// Significance: two-sided Mann-Whitney U on the rates of the trials where both runs have at least
// four of a setting, else on the clean samples of its trials. Samples of one trial are alike, so
// their p is too small and says "perhaps", never "surely". Of the settings that are called faster
// or slower at most 5 % are expected to be so by chance (Benjamini and Hochberg 1995).
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
  bool from_trials = true;  // false: from samples within trials
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
  int only_before = 0, only_after = 0;  // settings that the other run lacks
  Interval overall_ratio;               // geometric mean over `settings`, resampling them
  Interval best_ratio;                  // rate(recommended after) / rate(recommended before)
  std::string verdict;                  // in a sentence
};

// Both runs judged (RunRecord::result filled).
RunComparison compare_runs(const RunRecord& before, const RunRecord& after);

}  // namespace ocrtune
