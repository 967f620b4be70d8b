#include "trial/observe/undisturbed_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/stats.h"

namespace ocrtune {
namespace {

// Beliefs before any window was seen. How much of the bracket between the longest wait and the sum
// was lost: anything between none and all. What an external CPU's use of shared caches and cores
// costs a running thread: 0 to 30 % were measured.
constexpr double kOverlap = 0.25, kOverlapError = 0.22;
// Threads that spin meet often: then the waits add up.
constexpr double kSpinningOverlap = 0.8;
constexpr double kSharing = 0.12, kSharingError = 0.08;
constexpr double kFormError =
    0.15;  // of what was put right: the form of the model is not the truth
constexpr double kWindowNoise = 0.02;  // of a window's rate, at least
constexpr double kUnevenLoss = 0.1;    // share of a window lost that doubles its variance
constexpr double kDof = 4;             // of the Student t that doubts single windows
constexpr int kPasses = 8;
// No counter of the window says what it lost; the more, the more CPUs strangers had.
constexpr double kBlindError = 0.35, kBlindErrorOfStrangers = 0.5;

// A window put right: seconds a sample if the waits overlapped, what less if they did not, and the
// external CPUs beside it.
struct Corrected {
  double seconds = 0;  // as it was
  double longest = 0;
  double bracket = 0;
  double spun = 0;  // of the bracket, what spinning shows to be lost
  double external_cpus = 0;
  double weight = 1;  // its length, less what disturbance makes uncertain
};

bool can_be_corrected(const Sample& sample) {
  const Interference& seen = sample.interference;
  if (!(sample.samples_per_second > 0) || !(seen.observed_seconds > 0)) return false;
  // Swapping, throttling and stealing stretch without a wait that the counters show.
  return seen.swapped_pages == 0 && seen.cpu_seconds > 0 &&
         seen.throttled_seconds <= 0.02 * seen.observed_seconds && seen.steal_share <= 0.02;
}

Corrected correct(const Sample& sample, double min_cpu_seconds) {
  const Interference& seen = sample.interference;
  const double wall = seen.observed_seconds;
  double useful = seen.cpu_seconds;
  if (min_cpu_seconds > 0) {
    const double slowed = 1 + kSharing * std::min(1.0, seen.external_cpus);
    useful = std::min(useful, slowed * min_cpu_seconds * sample.samples_per_second * wall);
  }
  const double least = seen.available_cpus > 0 ? useful / seen.available_cpus : 0;
  const double floor = std::clamp(least, 0.02 * wall, wall);
  const double longest = std::clamp(wall - seen.longest_external_wait_seconds, floor, wall);
  const double sum = std::clamp(wall - seen.external_wait_seconds, floor, longest);
  Corrected window;
  const double seconds = 1 / sample.samples_per_second;  // a sample's
  window.seconds = seconds;
  window.longest = seconds * longest / wall;
  window.bracket = seconds * (longest - sum) / wall;
  window.spun = std::min(window.bracket, seconds * (seen.cpu_seconds - useful) / wall);
  // While it waited, strangers had all CPUs; what they had beside it slowed it.
  const double others = std::max(0.0, seen.available_cpus - 1);
  const double beside = seen.external_cpus * wall - seen.available_cpus * (wall - longest);
  // Sharing costs only while something of the trial runs; a program that sleeps loses nothing.
  const double running = std::min(1.0, seen.cpu_seconds / longest);
  window.external_cpus = running * std::clamp(beside / longest, 0.0, others);
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

// longest = seconds x (1 + sharing x external CPUs) + overlap x bracket, by least squares that
// doubt outliers, with the beliefs above as further rows. Everything in units of `scale`.
class Regression {
 public:
  explicit Regression(const std::vector<Corrected>& windows) : windows_(windows) {
    std::vector<double> all;
    double most = 0;
    double spun = 0, brackets = 1e-300;
    for (const Corrected& window : windows) {
      spun += window.weight * window.spun;
      brackets += window.weight * window.bracket;
      most = std::max(most, window.weight);
    }
    overlap_ = kOverlap + (kSpinningOverlap - kOverlap) * spun / brackets;
    for (const Corrected& window : windows) {
      all.push_back(window.longest - overlap_ * window.bracket);
    }
    scale_ = median(std::move(all));
    for (const Corrected& window : windows) weights_.push_back(window.weight / most);
  }

  RateEstimate run() {
    noise_ = 0.05;
    std::vector<double> doubt(windows_.size(), 1);
    for (int pass = 0; pass < kPasses; ++pass) {
      solve(doubt);
      renew_noise(doubt);
    }
    RateEstimate estimate;
    estimate.modelled = true;
    if (!(parameters_[0] > 0)) return estimate;
    estimate.samples_per_second = 1 / (scale_ * parameters_[0]);
    const double all = std::sqrt(std::max(0.0, covariance_[0][0])) / parameters_[0];
    double weight = 0;
    for (const double one : weights_) weight += one;
    estimate.error = std::min(all, noise_ / std::sqrt(weight) / parameters_[0]);
    double gained = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i)
      gained += weights_[i] / weight * std::log(windows_[i].seconds / (scale_ * parameters_[0]));
    estimate.sharing_error = -covariance_[0][2] / kSharingError / parameters_[0];
    const double rest = all * all - estimate.error * estimate.error -
                        estimate.sharing_error * estimate.sharing_error;
    estimate.model_error =
        std::hypot(std::sqrt(std::max(0.0, rest)), kFormError * std::max(0.0, gained));
    return estimate;
  }

 private:
  Vector3 row(const Corrected& window) const {
    return {1, window.bracket / scale_, window.external_cpus};
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

  void renew_noise(std::vector<double>& doubt) {
    double squares = 2 * kWindowNoise * kWindowNoise;
    double count = 2;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const Vector3 x = row(windows_[i]);
      double rest = windows_[i].longest / scale_;
      for (std::size_t a = 0; a < 3; ++a) rest -= parameters_[a] * x[a];
      const double square = weights_[i] * rest * rest;
      doubt[i] = (kDof + 1) / (kDof + square / (noise_ * noise_));
      squares += doubt[i] * square;
      count += 1;
    }
    noise_ = std::sqrt(squares / std::max(2.0, count - 1));
  }

  const std::vector<Corrected>& windows_;
  std::vector<double> weights_;
  double scale_ = 1;
  double overlap_ = kOverlap;  // believed before
  double noise_ = 0.05;
  Vector3 parameters_{};
  Matrix3 covariance_{};
};

RateEstimate middle_of(const std::vector<double>& rates) {
  RateEstimate estimate;
  estimate.samples_per_second = median(rates);
  if (rates.size() < 2) return estimate;
  std::vector<double> logs;
  for (const double rate : rates) logs.push_back(std::log(rate));
  estimate.error = median_error(stddev(logs), static_cast<int>(rates.size()));
  return estimate;
}

}  // namespace

RateEstimate undisturbed_rate(const std::vector<Sample>& samples, double min_cpu_seconds) {
  std::vector<double> clean, all, cpu_seconds, strangers;
  std::vector<Corrected> windows;
  double max_cpus = 1;
  for (const Sample& sample : samples) {
    if (!(sample.samples_per_second > 0)) continue;
    all.push_back(sample.samples_per_second);
    if (sample.clean()) clean.push_back(sample.samples_per_second);
    const Interference& seen = sample.interference;
    if (seen.observed_seconds > 0) {
      cpu_seconds.push_back(seen.cpu_seconds / seen.observed_seconds / sample.samples_per_second);
    }
    max_cpus = std::max(max_cpus, seen.available_cpus);
    strangers.push_back(std::min(1.0, seen.external_cpus / std::max(1.0, seen.available_cpus)));
    if (can_be_corrected(sample)) windows.push_back(correct(sample, min_cpu_seconds));
  }
  RateEstimate estimate;
  if (!clean.empty() &&
      (clean.size() == all.size() || clean.size() >= static_cast<std::size_t>(kEnoughClean))) {
    estimate = middle_of(clean);
  } else if (!windows.empty()) {
    estimate = Regression(windows).run();
    if (min_cpu_seconds > 0) {
      const double most = max_cpus / min_cpu_seconds;
      estimate.samples_per_second = std::min(estimate.samples_per_second, most);
    }
  }
  if (!(estimate.samples_per_second > 0) && !all.empty()) {
    estimate = middle_of(clean.empty() ? all : clean);
    estimate.modelled = true;
    if (clean.empty()) {
      estimate.model_error = kBlindError + kBlindErrorOfStrangers * median(std::move(strangers));
    }
  }
  estimate.cpu_seconds = median(std::move(cpu_seconds));
  return estimate;
}

}  // namespace ocrtune
