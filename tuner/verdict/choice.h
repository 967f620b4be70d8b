// Which of the tried settings is launched: the best that breaks nothing, the safest of a tie.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trial/trial.h"
#include "tuner/models/launch_gate.h"
#include "tuner/models/repeats.h"
#include "tuner/space/default_space.h"
#include "tuner/space/objective.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// What a verdict depends on beside the trials.
struct RecommendOptions {
  std::string run_id;
  std::optional<Knobs> baseline;  // the user's current setting
  std::vector<RuleSetting> rules;
  std::uint64_t limit_bytes = 0;       // what the memory model counts against; 0: unknown
  std::uint64_t host_limit_bytes = 0;  // 0: unknown
  std::uint64_t gpu_limit_bytes = 0;   // 0: the size of the GPU that a trial saw
  bool uses_gpus = false;
  double margin = kMemoryMargin;
  std::int64_t recipe_batch = 0;  // as in SearchOptions
  Objective objective;            // as in SearchOptions
  // Usable CPUs; 0: unknown. On a host where other load discarded most samples, settings with more
  // processes x threads than these win by taking the others' share, and are not chosen.
  int cpus = 0;
  std::set<std::string> fixed;             // knobs that the command ignores
  double expected_noise = kExpectedNoise;  // as in SearchOptions
  double another_hour = 0;                 // as settings_of() takes it
  double tie_tolerance = 0.005;            // settings further apart than this never tie
  std::vector<Trial> rehearsals;           // of settings that won (tuner/verdict/rehearsal.h)
  std::vector<Trial> soaks;                // of settings that won (tuner/verdict/soak.h)
  std::vector<Trial> cold;                 // of settings that won (tuner/verdict/held_back.h)
  double max_change = 0;        // share of the characters that a setting may read otherwise
  int evaluation_steps = 0;     // between two evaluations of the command's own run; 0: unknown
  std::vector<Trial> learning;  // of both recipes (tuner/models/learning.h)
  double seconds = 0;
  std::string stop_reason;
};

bool breaks(const Setting& setting, const Objective& objective);  // one of its constraints

// The candidates are the settings that work, leave the margin of memory free and break no
// constraint; those of the race, if any of them raced, and what is faster than these
// beyond all doubt. `settings` must outlive the verdict;
// Choice::chosen is null if there is no candidate.
Choice choose(const std::vector<Setting>& settings, const RecommendOptions& options, double noise);

// What follows is left out of the choice, for its rate is not all its own.
//
// Under other load the scheduler gives each runnable thread a share: more of them than CPUs get
// more than they would have alone. Windows whose CPU time was observed are put right for it; where
// most were not, such settings are marked (Setting::crowds_out), unless nothing else works. Gives
// their number.
int mark_crowding(std::vector<Setting>& settings, const std::vector<Trial>& trials, int cpus);

// Marks the settings whose step takes the time, the CPU time and the memory of one with a smaller
// batch, all else being equal: Setting::steps_as. Never the baseline, nor what ran on a GPU, where
// a larger batch may cost neither.
void mark_untaken_batches(std::vector<Setting>& settings, const std::optional<Knobs>& baseline);

// Of the marked ones, the fastest by its rate: that its batch costs nothing; empty: there is none.
Reason untaken_batch(const std::vector<Setting>& settings);

}  // namespace ocrtune
