// Which process of a trial was silent for how long, and whether that means that the trial hangs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trial/latency_histogram.h"
#include "trial/watch/stopping.h"
#include "trial/watch/trial_verdict.h"

namespace ocrtune {

class SilenceWatch {
  static constexpr double kNewsSeconds = 0.1;   // so long a process counts as just heard of; guess
  static constexpr std::int64_t kMinSteps = 3;  // whose median is a step's time; guess

 public:
  // CPU seconds of the whole tree so far, read `anew` or as of the last scan.
  using CpuSeconds = std::function<double(bool anew)>;

  SilenceWatch(const SilenceRule& rule, double expected_step_seconds, CpuSeconds cpu_seconds)
      : rule_(rule), expected_(expected_step_seconds), cpu_seconds_(std::move(cpu_seconds)) {}

  void add_process(double now) { heard_.push_back(now); }
  void hear(int process, double now) {
    if (process < 0 || static_cast<std::size_t>(process) >= heard_.size()) return;
    heard_[static_cast<std::size_t>(process)] = now;
  }
  void add_step(double seconds) { steps_.add(seconds); }

  std::optional<TrialStop> look(double now) {
    const auto longest = std::min_element(heard_.begin(), heard_.end());
    const double silent = now - *longest;
    if (silent < rule_.min_seconds) {
      if (silent < kNewsSeconds) cpu_at_news_ = cpu_seconds_(false);
      return std::nullopt;
    }
    double expected = expected_;
    if (steps_.count() >= kMinSteps) expected = std::max(expected, steps_.quantile(0.5));
    const double cpu = cpu_seconds_(true) - cpu_at_news_;
    auto reason = hung_reason(rule_, silent, cpu, expected, steps_.count() > 0);
    if (!reason) return std::nullopt;
    if (heard_.size() > 1) *reason = fmt::format("rank {} {}", longest - heard_.begin(), *reason);
    return TrialStop{StopCause::hung, *reason};
  }

 private:
  SilenceRule rule_;
  double expected_;  // seconds of a step; 0: unknown
  CpuSeconds cpu_seconds_;
  std::vector<double> heard_;  // of each process, when it last was
  LatencyHistogram steps_;
  double cpu_at_news_ = 0;  // when the most silent one was last heard of
};

}  // namespace ocrtune
