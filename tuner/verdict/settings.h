// Trials put together by setting: the numbers that verdicts and reports are made of.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trial/trial.h"
#include "tuner/recommendation.h"
#include "tuner/space/objective.h"
#include "tuner/verdict/rate_fit.h"

namespace ocrtune {

// All trials of one setting. Rates are objectives: undisturbed rates of trials, or what else the
// objective asks for.
struct Setting {
  SettingSummary summary;
  std::vector<double> rates;  // of every ok trial, in order
  bool raced = false;         // measured again beside the leaders
  // What the choice rests on: read off the one fit of all settings, and for comparing alone.
  Interval estimate;
  // The rate of the launches so far, no higher than what was seen allows to be told;
  // summary.samples_per_second is that of the next launch.
  Interval mean_rate;
  // Launches further off than the noise tells, with nothing else in sight; 0: none was.
  double slow_launch = 0, fast_launch = 0;
  double max_rate = 0;  // that may be told of it, in samples per second; 0: of another objective
  double forecast = 0;  // of the same by the search's model; 0: none
  bool crowds_out = false;        // its rate is also what it took from other programs' CPU time
  std::optional<Knobs> steps_as;  // of a smaller batch: as mark_untaken_batches() says
  double another_hour = 0;        // relative: what another time adds to the noise of a launch
  std::shared_ptr<const RateFit> fit;
  std::size_t place = 0;                                    // in the fit
  bool left_out() const { return crowds_out || steps_as; }  // its rate is not all its own
  // It is no rival of the answer, whatever its rate.
  bool set_aside() const { return left_out() || summary.crashes > 0; }
  bool works() const { return summary.outcome == Outcome::ok && !rates.empty(); }
};

// The last of these trials that has these knobs; null: none.
const Trial* latest_of(const std::vector<Trial>& trials, const Knobs& knobs);
// The one that worked and was looked at for the longest time.
const Trial* longest_of(const std::vector<Trial>& trials, const Knobs& knobs);

// Of `cpus` CPUs those that the threads of its trials could use: taskset, numactl, cpusets and a
// program's own binding leave fewer.
int cpus_in_reach(const std::vector<Trial>& trials, const Knobs& knobs, int cpus);

// What one trial, rehearsal or soak adds to the peaks of its setting.
void add_peaks(const Trial& trial, SettingSummary& summary);

// The same, for each setting that `trials` beside the search's own have run: the latest counts, and
// memory that ran out there is the setting's outcome. Settings that work stay in front.
void weigh_beside(const std::vector<Trial>& trials, std::vector<Setting>& settings);

void put_working_first(std::vector<Setting>& settings);  // each part in its order

// What a virtual machine gives busy CPUs differs by that much, relative, from one quarter of an
// hour to the next, with nothing in it to show why: between tunes of minutes and their lines
// launched after them (bench/RESULTS.md, "The printed line, pasted").
inline constexpr double kAnotherHour = 0.04;

// Best first by their own trials; failed ones last. `noise` (relative, between repeats) gives few
// repeats their spread; `another_hour` is what the next launch of a program that keeps a CPU busy
// differs by beyond that.
std::vector<Setting> settings_of(const std::vector<Trial>& trials, double noise,
                                 const Objective& objective = {}, double another_hour = 0);

// Relative standard deviation between repeats of a setting, pooled; `prior` counts as 3 repeats.
// Trials that rest on disturbed windows count only where no other setting was repeated.
double repeat_noise(const std::vector<Trial>& trials, double prior,
                    const Objective& objective = {});
// Whether any setting was repeated, so that repeat_noise is more than its prior.
bool noise_is_measured(const std::vector<Trial>& trials, const Objective& objective = {});

// rate(a) / rate(b) with a 95 % interval; both come from one settings_of. Rounds that both ran are
// paired.
Interval ratio_interval(const Setting& a, const Setting& b);

// The same as far as it may be told: no larger than the rates that may be told of both, and of the
// next launches of each and not of the mean of all.
Interval told_ratio(const Setting& a, const Setting& b);

Reason outcome_reason(Outcome outcome);  // the outcome alone: out of memory

const Setting* find_setting(const std::vector<Setting>& settings, const Knobs& knobs);

}  // namespace ocrtune
