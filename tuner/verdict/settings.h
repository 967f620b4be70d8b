// Trials put together by setting: the numbers that verdicts and reports are made of.
#pragma once

#include <string>
#include <vector>

#include "trial/trial.h"
#include "tuner/recommendation.h"
#include "tuner/space/objective.h"

namespace ocrtune {

// All trials of one setting. Rates are merits: medians of a trial's clean samples, or what else the
// objective asks for; trials whose samples were all discarded count only for a setting that has
// nothing else.
struct Setting {
  SettingSummary summary;
  std::vector<double> rates;       // of every ok trial, in order
  std::vector<double> race_rates;  // of the race alone: round 1, 2, ...
  // What the setting is judged by: the race's rates if there are two or more, else all.
  const std::vector<double>& judged() const { return race_rates.size() >= 2 ? race_rates : rates; }
  // What the choice and the claim rest on: the repeats, pooled with the model where there is one.
  Interval estimate;
  bool crowds_out = false;  // its rate is also what it took from other programs' CPU time
  bool works() const { return summary.outcome == Outcome::ok && !rates.empty(); }
};

// Best first by their own trials; failed ones last. `noise` (relative, between repeats) gives few
// repeats their spread.
std::vector<Setting> settings_of(const std::vector<Trial>& trials, double noise,
                                 const Objective& objective = {});

// Relative standard deviation between repeats of a setting, pooled; `prior` counts as 3 repeats.
double repeat_noise(const std::vector<Trial>& trials, double prior,
                    const Objective& objective = {});

// Median with a 95 % interval: resampled from 6 values up, never narrower than the pooled noise of
// fewer would allow.
Interval rate_interval(const std::vector<double>& rates, double noise);
// rate(a) / rate(b) with a 95 % interval; rounds that both ran are paired.
Interval ratio_interval(const Setting& a, const Setting& b, double noise);
// The same, and no narrower than their own rounds allow: on a busy host the two may differ more
// from round to round than repeats elsewhere do.
Interval gain_interval(const Setting& chosen, const Setting& baseline, double noise);

// Samples per second: pooled with the model where the model learns rates.
const Interval& rate_of(const Setting& setting, const Objective& objective);

std::string outcome_text(Outcome outcome);  // "out of memory"

const Setting* find_setting(const std::vector<Setting>& settings, const Knobs& knobs);

}  // namespace ocrtune
