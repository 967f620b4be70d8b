// The GPU core's own kernels as functions of one row or one element, over [N, C, H, W] with sums in
// double. "Each" kinds take an element's index; "Row" kinds take a Lane and a row and share the
// work among the lanes. The definitions are core/reference_*.h's; sources are named there.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/device_lane.h"
#include "core/graph.h"

namespace ocrtune::device {

OCRTUNE_BOTH inline std::size_t many(int value) { return static_cast<std::size_t>(value); }

OCRTUNE_BOTH inline float activated(Activation kind, float x) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0.0F;
    case Activation::hard_swish:
      return x <= -3 ? 0.0F : x >= 3 ? x : x * (x + 3) / 6;
    case Activation::hard_sigmoid:
      return x <= -3 ? 0.0F : x >= 3 ? 1.0F : (x + 3) / 6;
    case Activation::gelu:
      return x * (1 + erff(x * 0.70710678F)) / 2;
    case Activation::swish:
      return x / (1 + expf(-x));
  }
  return x;
}

OCRTUNE_BOTH inline float activated_slope(Activation kind, float x) {
  switch (kind) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return x > 0 ? 1.0F : 0.0F;
    case Activation::hard_swish:
      return x <= -3 ? 0.0F : x >= 3 ? 1.0F : (2 * x + 3) / 6;
    case Activation::hard_sigmoid:
      return x <= -3 || x >= 3 ? 0.0F : 1.0F / 6;
    case Activation::gelu:
      return (1 + erff(x * 0.70710678F)) / 2 + x * expf(-x * x / 2) * 0.39894228F;
    case Activation::swish: {
      const float sigmoid = 1 / (1 + expf(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
  }
  return 1;
}

struct ActivateEach {
  Activation kind;
  const float* x;
  float* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const { y[i] = activated(kind, x[i]); }
};

struct ActivateBackEach {
  Activation kind;
  const float *x, *dy;
  float* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const { dx[i] = activated_slope(kind, x[i]) * dy[i]; }
};

// y += bias of its channel, then the activation.
struct BiasEach {
  const float* bias;
  int channels;
  std::size_t plane;
  Activation kind;
  float* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    y[i] = activated(kind, y[i] + bias[i / plane % many(channels)]);
  }
};

struct AddEach {
  float* target;
  const float* source;
  OCRTUNE_BOTH void operator()(std::size_t i) const { target[i] += source[i]; }
};

struct CopyEach {
  const float* from;
  float* to;
  OCRTUNE_BOTH void operator()(std::size_t i) const { to[i] = from[i]; }
};

// [N, C, P] to [N, P, C] (or back, with the two swapped): i counts the source.
struct SwapEach {
  int channels;
  std::size_t plane;
  const float* from;
  float* to;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t p = i % plane, c = i / plane % many(channels), n = i / plane / many(channels);
    to[(n * plane + p) * many(channels) + c] = from[i];
  }
};

// --- layer norm: an element is a pixel, so that neighbours read neighbours -------------------

struct LayerNormPlan {
  int channels;
  std::size_t plane;
  double epsilon;
};

struct LayerNormEach {
  LayerNormPlan plan;
  const float *x, *gamma, *beta;
  float *y, *saved;  // saved[2 i] mean, saved[2 i + 1] 1 / deviation
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = i / plan.plane * plan.plane * many(plan.channels) + i % plan.plane;
    double sum = 0, squares = 0;
    for (int c = 0; c < plan.channels; ++c) sum += x[first + many(c) * plan.plane];
    const double mean = sum / plan.channels;
    for (int c = 0; c < plan.channels; ++c) {
      const double d = x[first + many(c) * plan.plane] - mean;
      squares += d * d;
    }
    const double inverse = 1 / sqrt(squares / plan.channels + plan.epsilon);
    saved[2 * i] = static_cast<float>(mean);
    saved[2 * i + 1] = static_cast<float>(inverse);
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      y[at] = static_cast<float>((x[at] - mean) * inverse) * gamma[c] + beta[c];
    }
  }
};

struct LayerNormBackEach {
  LayerNormPlan plan;
  const float *x, *gamma, *saved, *dy;
  float* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = i / plan.plane * plan.plane * many(plan.channels) + i % plan.plane;
    const float mean = saved[2 * i], inverse = saved[2 * i + 1];
    double sum = 0, product = 0;
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      const float slope = dy[at] * gamma[c];
      sum += slope;
      product += static_cast<double>(slope) * (x[at] - mean) * inverse;
    }
    const auto a = static_cast<float>(sum / plan.channels);
    const auto b = static_cast<float>(product / plan.channels);
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      dx[at] = inverse * (dy[at] * gamma[c] - a - (x[at] - mean) * inverse * b);
    }
  }
};

// --- softmax of attention: a row is a row of scores ------------------------------------------

struct SoftmaxRow {
  int columns;
  float* scores;  // in place
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    float* at = scores + row * many(columns);
    float most = -3.0e38F;
    for (int k = lane.index(); k < columns; k += lane.count()) most = at[k] > most ? at[k] : most;
    most = lane.most(most);
    double sum = 0;
    for (int k = lane.index(); k < columns; k += lane.count()) {
      at[k] = expf(at[k] - most);
      sum += at[k];
    }
    const auto share = static_cast<float>(1 / lane.sum(sum));
    for (int k = lane.index(); k < columns; k += lane.count()) at[k] *= share;
  }
};

// d(scores), in place of d(probabilities).
struct SoftmaxBackRow {
  int columns;
  const float* probabilities;
  float* slopes;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const float* p = probabilities + row * many(columns);
    float* d = slopes + row * many(columns);
    double sum = 0;
    for (int k = lane.index(); k < columns; k += lane.count()) {
      sum += static_cast<double>(p[k]) * d[k];
    }
    const auto mean = static_cast<float>(lane.sum(sum));
    for (int k = lane.index(); k < columns; k += lane.count()) d[k] = p[k] * (d[k] - mean);
  }
};

// --- AdamW ------------------------------------------------------------------------------------

struct AdamWEach {
  float keep, beta1, beta2, step_size, inverse_root_correction, epsilon;
  const float* gradient;
  const float* share;          // of the gradient that clipping leaves; null: all of it
  const std::uint8_t* decays;  // of each element
  float *first, *second, *parameter;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const float g = share == nullptr ? gradient[i] : *share * gradient[i];
    const float m = beta1 * first[i] + (1 - beta1) * g;
    const float v = beta2 * second[i] + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float kept = decays[i] != 0 ? parameter[i] * keep : parameter[i];
    parameter[i] = kept - step_size * m / (sqrtf(v) * inverse_root_correction + epsilon);
  }
};

}  // namespace ocrtune::device
