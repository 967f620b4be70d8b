// Batches are small noise batches, drawn anew for each attempt. Gradients are compared tensor by
// tensor, and the worst tensor decides.
#include "core/backends/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "core/backends/reference/reference_backend.h"
#include "core/graph/network.h"
#include "core/graph/tensor.h"

namespace ocrtune {
namespace {

// A seeded batch for the comparison with the reference; every label can be spelt.
Batch draw_check_batch(const GradientCheck& check, int attempt) {
  Random random(check.seed + 0x0C0FFEE + static_cast<std::uint64_t>(attempt));
  const int width = std::min(check.check_width, std::max(check.width, check.width_per_step));
  const int steps = width / check.width_per_step;
  return noise_batch({2, check.height, width}, random, std::max(1, steps / 3), check.classes);
}

// |a - b| / |b| (Euclidean norms) of each tensor. One that is nothing but rounding (the gradient of
// a bias before a norm) is held to 1e-3 of the largest norm of all instead, and tensors of a single
// number, whose terms may cancel to almost nothing, to the norm of all of them together.
std::vector<double> relative_errors(const Graph& graph, std::span<const float> a,
                                    std::span<const float> b) {
  std::vector<double> sizes, errors;
  double singles = 0;
  for (const Parameter& parameter : graph.parameters) {
    double size = 0, difference = 0;
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
      size += static_cast<double>(b[i]) * b[i];
      difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    }
    if (parameter.count == 1) singles += size;
    sizes.push_back(std::sqrt(size));
    errors.push_back(std::sqrt(difference));
  }
  // Both exceptions keep rounding of almost nothing from counting as an error of the kernel.
  const double least = 1e-3 * *std::max_element(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (graph.parameters[i].count == 1) sizes[i] = std::sqrt(singles);
    errors[i] /= std::max(sizes[i], least);
  }
  return errors;
}

double largest(const std::vector<double>& errors) {
  double worst = 0;
  for (const double error : errors) {
    if (!(error <= worst)) worst = error;  // NaN counts as worst
  }
  return worst;
}

// Where rounding puts one number on the other side of a kink (hard swish at 3), gradients differ by
// up to a percent and nothing is wrong: PyTorch in float shows the same against double. A wrong
// kernel fails on every batch, a kink does not: each tensor's best of a few batches counts.
constexpr int kCheckAttempts = 4;
constexpr double kCheckGoal = 0.01;

// Of each gradient tensor, then of the loss.
Result<std::vector<double>> batch_errors(const GradientCheck& check, const GradientMaker& make,
                                         Network& reference_network, int attempt) {
  const Batch batch = draw_check_batch(check, attempt);
  const Graph& graph = *check.graph;
  std::vector<float> statistics(check.statistics.begin(), check.statistics.end());
  std::vector<float> ours(graph.parameter_floats), theirs(graph.parameter_floats);
  const CtcLoss loss = OCRTUNE_TRY(make(batch, ours));
  const CtcLoss expected =
      OCRTUNE_TRY(reference_network.train(batch, check.parameters, statistics, theirs));
  std::vector<double> errors = relative_errors(graph, ours, theirs);
  // The last parameter is the bias of the classes, whose gradient is the sum of the loss's.
  if (check.ends_alone) errors.erase(errors.begin(), errors.end() - 1);
  errors.push_back(std::fabs(loss.mean - expected.mean) / std::fabs(expected.mean));
  return errors;
}

}  // namespace

Result<double> gradient_error(const GradientCheck& check, const GradientMaker& make) {
  const std::unique_ptr<Backend> reference = make_reference_backend();
  Network reference_network(*check.graph, *reference);
  std::vector<double> least;
  for (int attempt = 0; attempt < kCheckAttempts; ++attempt) {
    const std::vector<double> errors =
        OCRTUNE_TRY(batch_errors(check, make, reference_network, attempt));
    if (least.empty()) least = errors;
    // NaN stays: it is not bad luck.
    std::transform(least.begin(), least.end(), errors.begin(), least.begin(),
                   [](double a, double b) { return b < a ? b : a; });
    if (largest(least) < kCheckGoal || !check.exact) break;
  }
  return largest(least);
}

}  // namespace ocrtune
