// How a model search shares out the trials of its budget.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace ocrtune {

// Numbers are trials, unless a unit is given.
struct BudgetShares {
  static constexpr int kTrialsAHint = 5;     // of the budget: an earlier run may mislead; guess
  static constexpr int kTrialsAShare = 4;    // of the budget; guess
  static constexpr int kMaxShares = 4;       // guess
  static constexpr int kTrialsATrade = 20;   // of the budget; guess
  static constexpr int kTradesFrom = 6;      // left beside the race; guess
  static constexpr int kRulesFrom = 16;      // left beside the race; guess
  static constexpr int kStepsADoubling = 2;  // of the CPUs, beside their shares; guess
  static constexpr int kNoRaceBelow = 6;     // each goes to a setting that was not run; guess
  static constexpr int kMaxRaceTrials = 24;  // guess
  static constexpr double kRaceShare = 0.4;  // of the budget past kRaceFree, at most; guess
  static constexpr double kRaceFree = 30;    // guess
  // Relative, by noise alone: half of the error that bench/RESULTS.md allows a claim.
  static constexpr double kClaimError = 0.01;
  // The leader's repeats, of the budget past kLeaderFree, at most: a budget of 25 has none, and one
  // of 40 has few, as bench/RESULTS.md found best.
  static constexpr double kLeaderShare = 0.33, kLeaderFree = 20;
  static constexpr double kLeaderFrom = 0.4;  // of the budget: before it, the best changes; guess
  static constexpr double kMinRepeats = 4, kMinGap = 3;  // of the leader, and between two; guesses

  int budget = 0;  // that ran and are left
  int left = 0;
  int reserve = 0;  // of those left, for the race

  int max_hints() const { return std::max(1, budget / kTrialsAHint); }
  int max_cpu_shares() const { return std::clamp(budget / kTrialsAShare, 1, kMaxShares); }
  int max_trades() const {
    return left - reserve < kTradesFrom ? 0 : std::max(1, budget / kTrialsATrade);
  }
  bool hold_rules() const { return left - reserve >= kRulesFrom; }      // of thumb
  std::size_t max_runners() const {                                     // of the race
    return static_cast<std::size_t>(std::clamp((left + 1) / 3, 2, 8));  // guesses
  }
  // Of the initial design and the shares of the CPUs. Two CPUs leave little to learn about
  // processes and threads that their shares do not tell. `cpus` 0: there are no shares.
  int max_design(int cpus, int shares_tried) const {
    const int most = std::clamp(budget / 3, 3, 8);  // guesses
    if (cpus == 0) return most;
    const int doublings = static_cast<int>(std::ceil(std::log2(cpus)));
    return std::min(most, shares_tried + kStepsADoubling * doublings);
  }

  // That bring the error of a claim down to kClaimError. `noise`: the relative deviation between
  // repeats.
  static double repeats_wanted(double noise) { return std::pow(noise / kClaimError, 2); }

  // A tenth is kept for the race; more where a noisy claim needs them and many are left. The user's
  // setting runs beside the leaders.
  void keep_for_race(double noise, bool with_baseline) {
    const int least = budget / 10;
    const int most = std::max(least, static_cast<int>(kRaceShare * (budget - kRaceFree)));
    const int wanted = static_cast<int>(std::min(repeats_wanted(noise), 1e6));
    reserve = std::clamp(std::clamp(wanted, least, most), 2, kMaxRaceTrials) +
              (with_baseline ? std::min(3, budget / 10) : 0);
    if (budget < kNoRaceBelow) reserve = 0;
  }

  // Whether the leader, which ran in trials number `times`, is to run again. Its repeats are spread
  // over the search: those of a race alone all meet one moment of a machine that drifts, and their
  // mean is wrong with it.
  bool repeat_is_due(const std::vector<int>& times, double noise) const {
    const int done = budget - left;
    const double most = kLeaderShare * (budget - kLeaderFree);
    if (most < 2 || done < kLeaderFrom * budget) return false;
    const double wanted = std::min(std::max(repeats_wanted(noise), kMinRepeats), most);
    const double lacking = wanted - static_cast<double>(times.size());
    const int free = left - reserve / 2;
    const double gap = std::max(kMinGap, free / lacking);
    return lacking > 0 && done - times.back() >= gap;
  }
};

}  // namespace ocrtune
