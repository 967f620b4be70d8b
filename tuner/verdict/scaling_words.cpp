#include "tuner/verdict/scaling_words.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kNegligibleSigma = 0.01;
constexpr double kFlatGain = 1.05;  // fewer than 5 % more from all processes: flat

std::string count_words(double processes) {
  if (!std::isfinite(processes)) return "no limit";
  if (processes > 1000) return "over 1000";
  return fmt::format("{:.0f}", processes);
}

std::string growth_words(const ScalingFit& fit) {
  const int most = fit.max_processes;
  const double gain = fit.gain;
  const double share = gain * fit.min_processes / most;
  if (gain < 1) {
    return fmt::format("{} processes are slower than {}: {} of its rate", most, fit.min_processes,
                       format_percent(gain));
  }
  if (gain < kFlatGain) {
    return fmt::format("more processes gain nothing: {} do {:.2f} times the work of {}", most, gain,
                       fit.min_processes);
  }
  return fmt::format("{} processes do {:.2f} times the work of {}: {} efficiency", most, gain,
                     fit.min_processes, format_percent(share));
}

std::string contention_words(const ScalingFit& fit) {
  const std::string range =
      fmt::format("sigma {:.3f}, {:.3f}-{:.3f}", fit.sigma.median, fit.sigma.low, fit.sigma.high);
  if (fit.sigma.high < kNegligibleSigma)
    return "processes hardly wait for each other (" + range + ")";
  return fmt::format("{} of the work waits for something shared ({})",
                     format_percent(fit.sigma.median), range);
}

std::string coherence_words(const ScalingFit& fit) {
  const Interval& peak = fit.peak_processes;
  if (std::isfinite(peak.high)) {
    return fmt::format("past {} processes ({}-{}) you lose", count_words(peak.median),
                       count_words(peak.low), count_words(peak.high));
  }
  if (peak.low > 2.0 * fit.max_processes) {
    return fmt::format("no sign of loss by crowding up to {} processes", fit.max_processes);
  }
  return fmt::format("where more processes begin to lose is not known: {} at the earliest",
                     count_words(peak.low));
}

}  // namespace

std::vector<std::string> scaling_words(const ScalingFit& fit) {
  if (fit.distinct == 1) {
    return {fmt::format("only {} {} measured: how it grows with more is not known",
                        fit.max_processes,
                        fit.max_processes == 1 ? "process was" : "processes were")};
  }
  std::vector<std::string> words = {growth_words(fit)};
  if (fit.distinct == 2) {
    words.push_back("two process counts cannot tell waiting from crowding; measure a third");
  } else {
    words.push_back(contention_words(fit));
    words.push_back(coherence_words(fit));
  }
  if (fit.superlinear) {
    words.push_back("some counts are faster per process than the first: the law cannot say why");
  }
  for (const int count : fit.outliers) {
    words.push_back(fmt::format("{} processes lie off the curve and count less", count));
  }
  return words;
}

}  // namespace ocrtune
