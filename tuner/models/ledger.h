// What the trials so far say about each point of a space.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/stats.h"
#include "trial/trial.h"
#include "tuner/models/sample_cost.h"
#include "tuner/space/objective.h"
#include "tuner/space/space.h"

namespace ocrtune {

// All trials of one point.
struct PointRecord {
  std::vector<double> rates;  // objective of each ok trial that was not discarded: samples per
                              // second, unless the objective is another (tuner/space/objective.h)
  std::vector<double> discarded_rates;
  std::vector<int> times, discarded_times;               // which trial of the run gave each rate
  std::vector<double> samples_per_second, step_seconds;  // of the ok trials
  std::uint64_t peak_bytes = 0;                          // worst of its trials
  int allowed_cpus = 0;  // that the threads of its trials may use; 0: unknown
  int trials = 0;
  int failures = 0;
  int discarded = 0;   // trials without one clean sample
  std::string reason;  // of the last failure

  bool tried() const { return trials > 0; }
  bool works() const { return !rates.empty() || !discarded_rates.empty(); }
  // Clean rates, or the discarded ones where there is nothing better.
  const std::vector<double>& best_rates() const { return rates.empty() ? discarded_rates : rates; }
  const std::vector<int>& best_times() const { return rates.empty() ? discarded_times : times; }
};

class Ledger {
 public:
  // `space` must outlive the ledger.
  explicit Ledger(const Space& space, Objective objective = {});

  // Index of the trial's point, or -1 if the space does not hold it (then nothing is recorded).
  int add(const Trial& trial);

  const Space& space() const { return *space_; }
  const PointRecord& record(int point) const;
  const std::vector<int>& tried() const { return tried_; }  // in order of the first trial
  int trials() const { return trials_; }
  // Works, never failed, and breaks no constraint of the objective.
  bool eligible(int point) const;
  int best() const;                     // eligible with the highest median objective; -1: none
  double median_rate(int point) const;  // 0 if none worked
  // CPUs that the point keeps busy at least when nothing disturbs it; 0: not observed. Only for
  // the goal throughput.
  double busy_cpus(int point) const;
  // CPUs that the program may use with so many processes. One that binds itself shows it where it
  // has more threads than its masks have CPUs: threads that are bound one by one have as many. 0:
  // none of its settings showed it.
  int bound_cpus(int nproc) const;

  // What the next trial will probably take: an upper quartile of what trials that worked took
  // lately, so that one that timed out does not end the search.
  double expected_trial_seconds(double before_any) const;
  // Of a trial's seconds, those before its first step; 0 while nothing is known of that.
  double start_share() const { return median(start_shares_); }
  // Relative standard deviation between repeats of a point; `prior` weighs as three repeats.
  double noise(double prior) const;

 private:
  const Space* space_;
  Objective objective_;
  SampleCost cost_;
  // A trial without one clean sample, and its rate by the CPU time of a sample that was known then.
  struct Disturbed {
    int point = 0;
    Trial trial;
    double cpu_seconds = 0, rate = 0;
  };
  mutable std::vector<Disturbed> disturbed_;
  mutable std::vector<PointRecord> records_;
  mutable bool stale_ = false;  // their disturbed rates
  std::vector<int> tried_;
  std::vector<double> seconds_, failed_seconds_, start_shares_;
  int trials_ = 0;

  // Disturbed rates, by what is known by now of the CPU time of a sample; when they are asked for.
  void renew() const;
};

}  // namespace ocrtune
