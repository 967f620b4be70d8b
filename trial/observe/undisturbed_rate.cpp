// The rate is found in one of three ways: from clean windows alone, by a regression over disturbed
// ones, or at last as the raw rate with a large error. The regression is small (three unknowns) and
// has prior beliefs, so that a trial of few windows still has an answer with its error. bound()
// then keeps the result within what was seen.
#include "trial/observe/undisturbed_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// Beliefs before any window was seen. How much of the bracket between the longest wait and the sum
// was lost: anything between none and all. What an external CPU's use of shared caches and cores
// costs a running thread: 0 to 30 % were measured.
constexpr double kOverlap = 0.25, kOverlapError = 0.22;
// Threads that spin meet often: then the waits add up.
constexpr double kSpinningOverlap = 0.8;
constexpr double kSharing = 0.12, kSharingError = 0.08, kMaxSharing = 0.3;
// Neighbours on half of a thread's CPUs use all that there is of what they share with it.
constexpr double kSaturation = 0.5;
// Runnable threads of the trial for each CPU: fewer leave CPUs free, more fill them by themselves.
constexpr double kHalfFull = 0.85, kFull = 1;
constexpr double kCleanShare = 0.5;  // of what waits may have cost clean windows, that is not known
constexpr double kFormError =
    0.15;  // of what was put right: the form of the model is not the truth
constexpr double kWindowNoise = 0.02;  // of a window's rate, at least
constexpr double kUnevenLoss = 0.1;    // share of a window lost that doubles its variance
constexpr double kDof = 4;             // of the Student t that doubts single windows
// A guess: the doubt about outliers and the noise settle within a few rounds.
constexpr int kPasses = 8;
// No counter of the window says what it lost; the more, the more CPUs strangers had.
constexpr double kBlindError = 0.35, kBlindErrorOfStrangers = 0.5;

// A window put right: seconds a sample if the waits overlapped, what less if they did not, and the
// neighbours beside it.
struct Corrected {
  double seconds = 0;  // as it was
  double longest = 0;
  double bracket = 0;
  double least = 0;               // seconds that its CPU time takes on all CPUs
  bool at_least = false;          // the bracket ends there: it says nothing of its own
  double spun = 0;                // of the bracket, what spinning or crowding shows to be lost
  double neighbours = 0;          // beside it, as a share of those that would fill what is shared
  double samples = 0, limit = 0;  // of the window; the highest rate that it can speak for
  double weight = 1;              // its length, less what disturbance makes uncertain
};

bool can_be_corrected(const Sample& sample) {
  const Interference& seen = sample.interference;
  if (!(sample.samples_per_second() > 0) || !(seen.observed_seconds > 0)) return false;
  // Swapping, throttling and stealing stretch without a wait that the counters show.
  return seen.swapped_pages == 0 && seen.cpu_seconds > 0 &&
         seen.throttled_seconds <= 0.02 * seen.observed_seconds && seen.steal_share <= 0.02;
}

// What so many external CPUs cost, from 0 for none to 1 for as many as can cost anything.
double crowd(double external_cpus, double available_cpus) {
  // Half of the CPUs beside the thread's own, and never less than one.
  const double full = std::max(1.0, kSaturation * (available_cpus - 1));
  return std::clamp(external_cpus / full, 0.0, 1.0);
}

Corrected correct(const Sample& sample, double min_cpu_seconds) {
  const Interference& seen = sample.interference;
  const double wall = seen.observed_seconds;
  const double rate = sample.samples_per_second();
  // CPU time beyond what a sample needs was spent spinning, and is no work.
  double useful = seen.cpu_seconds;
  if (min_cpu_seconds > 0) {
    const double slowed = 1 + kSharing * crowd(seen.external_cpus, seen.available_cpus);
    useful = std::min(useful, slowed * min_cpu_seconds * rate * wall);
  }
  const double least = seen.available_cpus > 0 ? useful / seen.available_cpus : 0;
  // Never shorter than its useful CPU time on all CPUs, or a fiftieth of the window.
  const double floor = std::clamp(least, 0.02 * wall, wall);
  const double longest = std::clamp(wall - seen.longest_external_wait_seconds, floor, wall);
  const double sum = std::clamp(wall - seen.external_wait_seconds, floor, longest);
  Corrected window;
  const double seconds = 1 / rate;  // a sample's
  window.seconds = seconds;
  window.longest = seconds * longest / wall;
  window.bracket = seconds * (longest - sum) / wall;
  window.least = seconds * floor / wall;
  window.at_least = sum <= floor;
  window.spun = std::min(window.bracket, seconds * (seen.cpu_seconds - useful) / wall);
  // As many threads as CPUs, or more, would take every CPU that strangers leave.
  const double runnable = seen.cpu_seconds / std::max(0.01, 1 - seen.run_queue_wait_share) / wall;
  const double fill = runnable / std::max(1.0, seen.available_cpus);
  const double crowded = std::clamp((fill - kHalfFull) / (kFull - kHalfFull), 0.0, 1.0);
  window.spun = std::max(window.spun, crowded * window.bracket);
  // While it waited, strangers had all CPUs; what they had beside it slowed it.
  const double beside = seen.external_cpus * wall - seen.available_cpus * (wall - longest);
  // Sharing costs only while something of the trial runs; a program that sleeps loses nothing.
  const double running = std::min(1.0, seen.cpu_seconds / longest);
  window.neighbours = running * crowd(beside / longest, seen.available_cpus);
  window.samples = sample.samples;
  // As if all was lost that can have been: the highest rate that this window can support.
  window.limit = rate * wall / sum * (1 + kMaxSharing * window.neighbours);
  // Its variance doubles where a tenth was lost, so that windows with much of it weigh little.
  const double lost = (1 - longest / wall) / kUnevenLoss;
  window.weight = sample.seconds / (1 + lost * lost);
  return window;
}

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>;

// Gauss-Jordan; `a` is symmetric and positive definite.
Matrix3 inverse(Matrix3 a) {
  Matrix3 b{};
  for (std::size_t i = 0; i < 3; ++i) b[i][i] = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const double pivot = a[i][i];
    for (std::size_t j = 0; j < 3; ++j) {
      a[i][j] /= pivot;
      b[i][j] /= pivot;
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (k == i) continue;
      const double factor = a[k][i];
      for (std::size_t j = 0; j < 3; ++j) {
        a[k][j] -= factor * a[i][j];
        b[k][j] -= factor * b[i][j];
      }
    }
  }
  return b;
}

// longest = seconds x (1 + sharing x neighbours) + overlap x bracket, by least squares that doubt
// outliers, with the beliefs above as further rows. Everything in units of `scale`.
class Regression {
 public:
  explicit Regression(std::vector<Corrected> windows) : windows_(std::move(windows)) {
    level_brackets();
    std::vector<double> all;
    double most = 0;
    // Not zero, for the division below.
    double spun = 0, brackets = 1e-300;
    for (const Corrected& window : windows_) {
      spun += window.weight * window.spun;
      brackets += window.weight * window.bracket;
      most = std::max(most, window.weight);
    }
    overlap_ = kOverlap + (kSpinningOverlap - kOverlap) * spun / brackets;
    for (const Corrected& window : windows_) {
      all.push_back(window.longest - overlap_ * window.bracket);
    }
    scale_ = median(std::move(all));
    for (const Corrected& window : windows_) weights_.push_back(window.weight / most);
  }

  RateEstimate run() {
    // A first value; each pass estimates it anew.
    noise_ = 0.05;
    std::vector<double> doubt(windows_.size(), 1);
    for (int pass = 0; pass < kPasses; ++pass) {
      solve(doubt);
      renew_noise(doubt);
    }
    RateEstimate estimate;
    estimate.modelled = true;
    // No positive time: the model fails, and the caller falls back to the raw rate.
    if (!(parameters_[0] > 0)) return estimate;
    estimate.slow = slow_windows();
    if (estimate.slow.recur()) parameters_[0] += mean_rest(estimate.slow);
    estimate.model_samples_per_second = 1 / (scale_ * parameters_[0]);
    const double all = std::sqrt(std::max(0.0, covariance_[0][0])) / parameters_[0];
    double weight = 0;
    for (const double one : weights_) weight += one;
    // The smaller of the two: the rest of the uncertainty is the model's, and is told apart.
    estimate.error = std::min(all, noise_ / std::sqrt(weight) / parameters_[0]);
    double gained = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i)
      gained += weights_[i] / weight * std::log(windows_[i].seconds / (scale_ * parameters_[0]));
    // The unknown of sharing is one of the machine: its part is separated, with its sign.
    estimate.sharing_error = -covariance_[0][2] / kSharingError / parameters_[0];
    const double rest = all * all - estimate.error * estimate.error -
                        estimate.sharing_error * estimate.sharing_error;
    estimate.model_error =
        std::hypot(std::sqrt(std::max(0.0, rest)), kFormError * std::max(0.0, gained));
    return estimate;
  }

 private:
  // A bracket that ends at the CPU time is a window's own time less a constant: it would explain
  // all of its noise. Such windows share their middle one.
  void level_brackets() {
    std::vector<double> longest;
    for (const Corrected& window : windows_) {
      if (window.at_least) longest.push_back(window.longest);
    }
    const double middle = median(std::move(longest));
    for (Corrected& window : windows_) {
      if (window.at_least) window.bracket = std::max(0.0, middle - window.least);
      window.spun = std::min(window.spun, window.bracket);
    }
  }

  Vector3 row(const Corrected& window) const {
    return {1, window.bracket / scale_, window.neighbours};
  }

  void solve(const std::vector<double>& doubt) {
    Matrix3 normal{};
    Vector3 right{};
    normal[0][0] = 1e-9;
    normal[1][1] = 1 / (kOverlapError * kOverlapError);
    normal[2][2] = 1 / (kSharingError * kSharingError);
    right[1] = overlap_ * normal[1][1];
    right[2] = kSharing * normal[2][2];
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const Vector3 x = row(windows_[i]);
      const double y = windows_[i].longest / scale_;
      const double weight = weights_[i] * doubt[i] / (noise_ * noise_);
      for (std::size_t a = 0; a < 3; ++a) {
        right[a] += weight * x[a] * y;
        for (std::size_t b = 0; b < 3; ++b) normal[a][b] += weight * x[a] * x[b];
      }
    }
    covariance_ = inverse(normal);
    for (std::size_t a = 0; a < 3; ++a) {
      parameters_[a] = 0;
      for (std::size_t b = 0; b < 3; ++b) parameters_[a] += covariance_[a][b] * right[b];
    }
  }

  double rest_of(const Corrected& window) const {
    const Vector3 x = row(window);
    double rest = window.longest / scale_;
    for (std::size_t a = 0; a < 3; ++a) rest -= parameters_[a] * x[a];
    return rest;
  }

  // As they would be without other load.
  SlowWindows slow_windows() const {
    std::vector<Window> windows;
    for (const Corrected& window : windows_) {
      const double seconds = scale_ * std::max(0.1, parameters_[0] + rest_of(window));
      windows.push_back({window.samples, seconds * window.samples});
    }
    return find_slow_windows(windows);
  }

  // What the usual window leaves out of a sample's time: the doubt about outliers is wrong where
  // they recur.
  double mean_rest(const SlowWindows& slow) const {
    double samples = 0, rest = 0;
    for (std::size_t i = slow.begin; i < slow.end; ++i) {
      samples += windows_[i].samples;
      rest += windows_[i].samples * rest_of(windows_[i]);
    }
    return samples > 0 ? std::max(0.0, rest / samples) : 0;
  }

  void renew_noise(std::vector<double>& doubt) {
    double squares = 2 * kWindowNoise * kWindowNoise;
    double count = 2;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const double rest = rest_of(windows_[i]);
      const double square = weights_[i] * rest * rest;
      // Weights of Student's t with kDof degrees of freedom: far windows pull less.
      doubt[i] = (kDof + 1) / (kDof + square / (noise_ * noise_));
      squares += doubt[i] * square;
      count += 1;
    }
    noise_ = std::sqrt(squares / std::max(2.0, count - 1));
  }

  std::vector<Corrected> windows_;
  std::vector<double> weights_;
  double scale_ = 1;
  double overlap_ = kOverlap;  // believed before
  double noise_ = 0.05;
  Vector3 parameters_{};
  Matrix3 covariance_{};
};

// Samples over seconds of the windows of whole periods; the error from how windows differ.
RateEstimate measured_rate(const std::vector<Window>& windows) {
  RateEstimate estimate;
  estimate.slow = find_slow_windows(windows);
  double samples = 0, seconds = 0;
  for (std::size_t i = estimate.slow.begin; i < estimate.slow.end; ++i) {
    samples += windows[i].samples;
    seconds += windows[i].seconds;
  }
  if (!(seconds > 0)) return estimate;
  const double rate = samples / seconds;
  estimate.samples_per_second = estimate.model_samples_per_second = rate;
  const auto count = static_cast<double>(estimate.slow.end - estimate.slow.begin);
  if (count < 2) return estimate;
  double squares = 0;
  for (std::size_t i = estimate.slow.begin; i < estimate.slow.end; ++i) {
    const double off = windows[i].samples / rate - windows[i].seconds;
    squares += off * off;
  }
  estimate.error = std::sqrt(squares * count / (count - 1)) / seconds;
  return estimate;
}

// All that was seen of a trial's windows.
struct Seen {
  std::vector<Window> clean, all;
  std::vector<double> cpu_seconds, strangers;
  std::vector<double> clean_lost;  // share of each clean window that waits may have cost
  std::vector<Corrected> windows;
  double max_cpus = 1, best = 0;  // best: rate that any window can speak for
};

// What is below every threshold may cost something all the same: that share of the window.
double share_waited(const Sample& sample) {
  if (!can_be_corrected(sample)) return 0;
  const Corrected window = correct(sample, 0);
  return (window.seconds - window.longest + kOverlap * window.bracket) / window.seconds;
}

Seen look_at(const std::vector<Sample>& samples, double min_cpu_seconds) {
  Seen seen;
  for (const Sample& sample : samples) {
    if (!(sample.samples_per_second() > 0)) continue;
    const Window window{sample.samples, sample.seconds};
    seen.all.push_back(window);
    if (sample.clean()) {
      seen.clean.push_back(window);
      seen.clean_lost.push_back(share_waited(sample));
    }
    const Interference& load = sample.interference;
    if (load.observed_seconds > 0) {
      seen.cpu_seconds.push_back(load.cpu_seconds / load.observed_seconds /
                                 sample.samples_per_second());
    }
    seen.max_cpus = std::max(seen.max_cpus, load.available_cpus);
    seen.strangers.push_back(
        std::min(1.0, load.external_cpus / std::max(1.0, load.available_cpus)));
    if (!can_be_corrected(sample)) continue;
    seen.windows.push_back(correct(sample, min_cpu_seconds));
    seen.best = std::max(seen.best, seen.windows.back().limit);
  }
  return seen;
}

// The model's rate, no higher than anything that was seen allows.
void bound(const Seen& seen, double min_cpu_seconds, RateEstimate& estimate) {
  double most = seen.best;
  double least = min_cpu_seconds;
  if (!(least > 0) && !seen.cpu_seconds.empty()) {
    // Unknown: the window that took the least CPU time for a sample shows what one needs.
    least = *std::min_element(seen.cpu_seconds.begin(), seen.cpu_seconds.end());
  }
  if (least > 0) most = std::min(most, seen.max_cpus / least);
  const double rate = std::min(estimate.model_samples_per_second, most);
  const double raw = estimate.raw_samples_per_second;
  estimate.model_samples_per_second = estimate.samples_per_second = rate;
  estimate.max_samples_per_second = std::min(most, kMostChange * raw);
  if (rate <= kMostChange * raw && raw <= kMostChange * rate) return;
  estimate.disturbed = true;
  estimate.samples_per_second = raw;
}

}  // namespace

RateEstimate undisturbed_rate(const std::vector<Sample>& samples, double min_cpu_seconds) {
  Seen seen = look_at(samples, min_cpu_seconds);
  RateEstimate estimate;
  const RateEstimate all = measured_rate(seen.all);
  const auto clean = seen.clean.size();
  // All clean, or enough of them: measured windows need no model.
  if (clean > 0 && (clean == seen.all.size() || clean >= std::size_t{kEnoughClean})) {
    estimate = clean == seen.all.size() ? all : measured_rate(seen.clean);
    estimate.model_error = kCleanShare * mean(seen.clean_lost);
  } else if (!seen.windows.empty()) {
    estimate = Regression(seen.windows).run();
  }
  estimate.raw_samples_per_second = all.samples_per_second;
  if (estimate.modelled) bound(seen, min_cpu_seconds, estimate);
  if (!(estimate.model_samples_per_second > 0) && !seen.all.empty()) {
    const double raw = all.samples_per_second;
    estimate = seen.clean.empty() ? all : measured_rate(seen.clean);
    estimate.raw_samples_per_second = raw;
    estimate.modelled = true;
    if (seen.clean.empty()) {
      estimate.model_error = kBlindError + kBlindErrorOfStrangers * median(seen.strangers);
    }
  }
  estimate.cpu_seconds = median(std::move(seen.cpu_seconds));
  double& most = estimate.max_samples_per_second;
  most = std::max(most, estimate.samples_per_second);
  for (const Window& window : seen.clean) most = std::max(most, window.samples_per_second());
  return estimate;
}

RateEstimate undisturbed_rate(const Trial& trial, double min_cpu_seconds) {
  RateEstimate estimate = undisturbed_rate(trial.samples, min_cpu_seconds);
  const double rate = trial.samples_per_second;
  if (!trial.service.measured() || !(rate > 0)) return estimate;
  if (estimate.modelled && estimate.model_samples_per_second > 0) {
    const double change =
        std::log(estimate.model_samples_per_second / estimate.raw_samples_per_second);
    estimate.model_error = std::hypot(estimate.model_error, change);
    estimate.sharing_error = 0;
  }
  estimate.samples_per_second = estimate.model_samples_per_second = rate;
  estimate.raw_samples_per_second = estimate.max_samples_per_second = rate;
  estimate.disturbed = estimate.modelled;
  return estimate;
}

std::vector<std::string> rate_words(const RateEstimate& estimate) {
  std::vector<std::string> lines;
  const auto rate = [](double value) { return format_count(value) + " samples/s"; };
  if (estimate.disturbed) {
    lines.push_back(
        fmt::format("beside other load, which may have taken up to {} of the speed",
                    format_percent(1 - estimate.raw_samples_per_second /
                                           std::max(estimate.raw_samples_per_second,
                                                    estimate.model_samples_per_second))));
  } else if (estimate.modelled && estimate.samples_per_second == estimate.raw_samples_per_second) {
    lines.emplace_back("beside other load: what it took is not known");
  } else if (estimate.modelled) {
    lines.push_back(fmt::format("put right for other load: {} were measured",
                                rate(estimate.raw_samples_per_second)));
  }
  const SlowWindows& slow = estimate.slow;
  if (slow.recur()) {
    lines.push_back(fmt::format("slow windows come each {} and are part of the rate",
                                format_duration(slow.period_seconds)));
  } else if (slow.episodes > 0) {
    lines.push_back(fmt::format("{} came while it was measured: how often they come is not known",
                                how_many(slow.episodes, "slow window")));
  }
  return lines;
}

}  // namespace ocrtune
