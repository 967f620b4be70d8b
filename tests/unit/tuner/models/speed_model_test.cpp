#include "tuner/models/speed_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

constexpr double kCores = 8;

Space small_space() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2, 16}) {
    for (const int threads : {1, 4}) {
      for (const int batch : {8, 64}) {
        for (const int workers : {0, 2}) {
          for (const char* precision : {"fp32", "bf16"}) {
            Knobs knobs;
            knobs.nproc = nproc;
            knobs.threads = threads;
            knobs.batch = batch;
            knobs.workers = workers;
            knobs.precision = precision;
            points.push_back(knobs);
          }
        }
      }
    }
  }
  return Space(points);
}

double plain_maximum(double a, double b) {
  return std::pow(std::pow(a, 6) + std::pow(b, 6), 1.0 / 6);
}

// The formula of the header at what is expected of any machine, in the plainest words.
double plain_log_rate(const Knobs& at) {
  const double n = at.nproc, t = at.threads, b = at.batch, w = at.workers;
  const double load = (n * t + std::exp(-0.9) * n * w) / kCores;
  const double crowd = std::pow(plain_maximum(1, load), std::exp(0.3));
  const double amdahl = std::exp(-2.5) + (1 - std::exp(-2.5)) / t;
  const double usl =
      1 + std::exp(-1.6) / kCores * (n - 1) + std::exp(-2.0) / kCores / kCores * n * (n - 1);
  double compute = (std::exp(0.7) + b) * amdahl * usl * crowd;
  if (n > 1) compute += std::exp(-1.6) * (1 + std::log2(n));
  const double fetch = std::exp(-2.0) * b * std::max(1.0, load);
  const double seconds = w == 0 ? compute + fetch : plain_maximum(compute, fetch / w);
  return -std::log(plain_maximum(seconds / (n * b), 1 / (kCores * std::exp(0.6))));
}

TEST(SpeedModel, IsItsFormula) {
  const Space space = small_space();
  const SpeedModel model(space, kCores);
  for (int point = 0; point < space.size(); ++point) {
    EXPECT_NEAR(model.log_rate(point), plain_log_rate(space.knobs(point)), 1e-12) << point;
  }
}

// Each parameter moved by itself, the whole formula again.
TEST(SpeedModel, ItsSlopesAreThoseOfTheFormula) {
  const Space space = small_space();
  const SpeedModel model(space, kCores);
  constexpr double kMove = 1e-4;
  const auto count = static_cast<std::size_t>(model.parameter_count());
  std::vector<double> slopes(count);
  for (int point = 0; point < space.size(); ++point) {
    model.gradient(point, slopes.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> moved = model.parameters();
      moved[i] += kMove;
      const double change = model.log_rate(point, moved) - model.log_rate(point);
      EXPECT_NEAR(slopes[i], change / kMove, 1e-9) << point << ", parameter " << i;
    }
  }
}

}  // namespace
}  // namespace ocrtune
