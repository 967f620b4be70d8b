// The measured windows of a trial, until a rule says that they are enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/latency_histogram.h"
#include "trial/observe/undisturbed_rate.h"
#include "trial/watch/step_windows.h"
#include "trial/watch/stopping.h"
#include "trial/watch/trial_verdict.h"

namespace ocrtune {

class WindowWatch {
  static constexpr double kMinObserved = 0.5;  // of a window, between the looks at its ends; guess

 public:
  // Notes the interference since the last such look, and returns the seconds between the two.
  using Observe = std::function<double(Interference& found)>;

  // `only_time`: steady rates do not end it early, nor odd ones late.
  WindowWatch(int ranks, double measure_seconds, bool only_time = false)
      : options_({.measure_seconds = measure_seconds}),
        windows_(ranks, window_seconds(measure_seconds)) {
    if (!only_time) return;
    options_.interval_share = -1;
    options_.max_factor = options_.period_factor = 1;
    stopping_ = StoppingRule(options_);
  }

  // The measuring begins now.
  void begin() {
    windows_.restart();
    unclosed_.clear();
  }
  // What was measured before is void.
  void forget() {
    samples_.clear();
    closed_ = 0;
    stopping_ = StoppingRule(options_);
    shares_.clear();
    steps_ = LatencyHistogram();
  }
  void add(const StepEvent& step) {
    shares_[step.rank].samples += static_cast<double>(step.samples);
    shares_[step.rank].seconds += step.seconds;
    steps_.add(step.seconds / static_cast<double>(step.steps), step.steps);
    if (const auto sample = windows_.add(step)) unclosed_.push_back(*sample);
  }

  // Closes the windows that the steps since the last look have filled, and says why they are
  // enough. Windows that came in one read cannot be observed apart: they are one.
  std::optional<std::string> look(const Observe& observe) {
    if (unclosed_.empty()) return std::nullopt;
    Sample sample = merged(unclosed_);
    closed_ += static_cast<int>(unclosed_.size());
    unclosed_.clear();
    const double observed = observe(sample.interference);
    if (observed < kMinObserved * sample.seconds) {
      sample.interference.spoilt_by =
          fmt::format("observed for {} of its {}", format_duration(std::max(0.0, observed)),
                      format_duration(sample.seconds));
      sample.interference.observed_seconds = 0;
    }
    samples_.push_back(sample);
    stopping_.add(sample);
    return stopping_.reason();
  }

  // One figure for the whole time since the measuring began, in place of all windows.
  void replace(const ResultEvent& result, const Observe& observe) {
    unclosed_.clear();
    // Not result.samples: a search of the highest rate counts the answers at all rates.
    const double samples = result.samples_per_second * result.seconds;
    samples_ = {{samples, result.seconds, result.samples, {}, {}}};
    observe(samples_[0].interference);
    judged_rate_ = result.samples_per_second;
  }

  bool any() const { return !samples_.empty(); }
  bool judged() const { return judged_rate_ > 0; }  // by the measured process itself
  int closed() const { return closed_; }            // windows

  // `own_shares`: of so many ranks each has its share of a whole; 0: they share it step by step.
  void report(int own_shares, Trial& trial) const {
    trial.samples = samples_;
    leave_out_warm_up(trial);
    if (own_shares > 0) weigh_shares(shares_, own_shares, trial);
    const RateEstimate estimate = undisturbed_rate(trial.samples);
    trial.samples_per_second = judged() ? judged_rate_ : estimate.samples_per_second;
    if (!trial.ok()) trial.samples_per_second = 0;
    for (const std::string& line : rate_words(estimate)) {
      if (trial.ok() && !judged()) trial.evidence.push_back(line);
    }
    trial.latency = step_latency(steps_);
  }

 private:
  StoppingOptions options_;
  StepWindows windows_;
  StoppingRule stopping_{options_};
  std::vector<Sample> unclosed_;  // windows whose end nobody has looked at yet
  std::vector<Sample> samples_;
  int closed_ = 0;
  double judged_rate_ = 0;           // that the measured process found for itself
  std::map<int, RankShare> shares_;  // of each rank since the measuring began
  LatencyHistogram steps_;           // of single ones: a soak has millions
};

}  // namespace ocrtune
