// Parameters are cut into chunks for the team; each chunk is one vector loop over gradient, moments
// and parameter. The bias corrections are factors of the whole step.
#include "core/graph/optimizer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/simd/simd.h"

namespace ocrtune {
namespace {

struct StepFactors {
  float share;  // of the gradient that clipping leaves
  float keep;   // 1 - learning rate * decay
  float beta1, beta2, step_size, inverse_root_correction, epsilon;
};

OCRTUNE_SIMD void update_range(const StepFactors& f, const float* __restrict gradient,
                               float* __restrict first, float* __restrict second,
                               float* __restrict parameter, std::size_t count) {
  const StepFactors k = f;
  for (std::size_t i = 0; i < count; ++i) {
    const float g = k.share * gradient[i];
    const float m = k.beta1 * first[i] + (1 - k.beta1) * g;
    const float v = k.beta2 * second[i] + (1 - k.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float denominator = std::sqrt(v) * k.inverse_root_correction + k.epsilon;
    parameter[i] = parameter[i] * k.keep - k.step_size * m / denominator;
  }
}

// The size of a chunk is a guess: 64 KiB of floats.
constexpr std::size_t kChunk = 16384;

double sum_of_squares(const float* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace

double gradient_norm(const Graph& graph, std::span<const float> gradients) {
  double sum = 0;
  std::vector<double> parts;  // summed in order: a sum by team would depend on the team
  for (const Parameter& parameter : graph.parameters) {
    parts.assign((parameter.count + kChunk - 1) / kChunk, 0);
#pragma omp parallel for schedule(static) if (parts.size() > 1)
    for (std::size_t chunk = 0; chunk < parts.size(); ++chunk) {
      const std::size_t first = chunk * kChunk;
      parts[chunk] = sum_of_squares(gradients.data() + parameter.offset + first,
                                    std::min(kChunk, parameter.count - first));
    }
    for (const double part : parts) sum += part;
  }
  return std::sqrt(sum);
}

void update_parameters(const AdamW& settings, const Graph& graph, std::span<const float> gradients,
                       AdamWState& state, std::span<float> parameters) {
  ++state.steps;
  const auto t = static_cast<double>(state.steps);
  const double correction1 = 1 - std::pow(settings.beta1, t);
  const double correction2 = 1 - std::pow(settings.beta2, t);
  StepFactors factors{};
  factors.share = 1;
  if (settings.clip_norm > 0) {
    const double norm = gradient_norm(graph, gradients);
    if (norm > settings.clip_norm) factors.share = static_cast<float>(settings.clip_norm / norm);
  }
  factors.beta1 = static_cast<float>(settings.beta1);
  factors.beta2 = static_cast<float>(settings.beta2);
  factors.step_size = static_cast<float>(settings.learning_rate / correction1);
  factors.inverse_root_correction = static_cast<float>(1 / std::sqrt(correction2));
  factors.epsilon = static_cast<float>(settings.epsilon);
  for (const Parameter& parameter : graph.parameters) {
    factors.keep = parameter.decays
                       ? static_cast<float>(1 - settings.learning_rate * settings.weight_decay)
                       : 1.0F;
    const std::size_t chunks = (parameter.count + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const std::size_t first = parameter.offset + chunk * kChunk;
      const std::size_t count = std::min(kChunk, parameter.count - chunk * kChunk);
      update_range(factors, gradients.data() + first, state.first.data() + first,
                   state.second.data() + first, parameters.data() + first, count);
    }
  }
}

}  // namespace ocrtune
