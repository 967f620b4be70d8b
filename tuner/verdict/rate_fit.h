// The rates of all settings of a run at once, with what they have in common.
//
// The logarithm of a trial's rate = its setting's + its round's + noise. Trials of one round ran
// side by side in time and share what the machine did to them, so a difference of two settings that
// ran in the same rounds is freed of it; a setting's own rate is not. A trial that rests on
// disturbed windows adds its own error, and what its model does not know stays however often the
// setting is repeated. Generalised least squares; the share of rounds in the noise by restricted
// maximum likelihood; each setting's noise is pooled with the others'. Every rate, interval, gain
// and comparison of one answer is read off one fit, so none contradicts another.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/stats.h"

namespace ocrtune {

struct RateObservation {
  std::size_t setting = 0;  // 0, 1, ...
  int round = 0;            // 0: of none
  double log_rate = 0;
  double error = 0;  // of its own, beside the noise between trials
  // What the model of disturbed windows does not know, each trial in its own measure: how the waits
  // of such processes and threads add up, which settings of one team have nearly in common; and
  // what strangers beside running threads cost, which all trials have in common (signed).
  double model_error = 0, sharing_error = 0;
  std::size_t team = 0;
};

class RateFit {
 public:
  // `noise`: relative, between repeats. A setting without observations gets zeros.
  RateFit(const std::vector<RateObservation>& observations, std::size_t settings, double noise);

  Interval rate(std::size_t setting) const;                               // at 95 %
  Interval ratio(std::size_t a, std::size_t b) const;                     // of a's rate to b's
  double chance_above(std::size_t a, std::size_t b, double ratio) const;  // that a / b > ratio
  // Of the setting's own repeats, relative: what they show, held to what is pooled where they are
  // few.
  double noise(std::size_t setting) const { return noises_[setting]; }

 private:
  std::size_t settings_ = 0;
  std::vector<double> log_rates_, noises_;
  // settings x settings: of noise, which few repeats measure, and of what the model does not know.
  std::vector<double> noise_covariance_, model_covariance_;
  std::vector<double> dof_;

  std::vector<std::map<int, double>> rounds_;  // of each setting: round -> logarithm of its rate

  void fit_jointly(const std::vector<RateObservation>& observations, double noise);
  // Of a long run: each setting that is not among `joint` by its own trials.
  void fit_alone(const std::vector<RateObservation>& observations,
                 const std::vector<RateObservation>& joint, double noise);
  // Of rate a, or of the difference to b where that is another setting.
  double variance(const std::vector<double>& covariance, std::size_t a, std::size_t b) const;
  double half_width(std::size_t a, std::size_t b, double dof) const;  // at 95 %
  // Two settings may differ more from round to round than repeats elsewhere do. 0: too few rounds.
  double half_by_rounds(std::size_t a, std::size_t b) const;
};

}  // namespace ocrtune
