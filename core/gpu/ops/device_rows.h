// The GPU core's own kernels as functions of one row or one element, over [N, C, H, W] with sums in
// double. "Each" kinds take an element's index; "Row" kinds take a Lane and a row and share the
// work among the lanes. The definitions are core/reference_*.h's; sources are named there.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/gpu/ops/device_lane.h"
#include "core/graph/graph.h"

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

// [N, C, P] to [N, P, C] (or back, with the two swapped): i counts the source.
template <typename Value>
struct SwapEach {
  int channels;
  std::size_t plane;
  const Value* from;
  Value* to;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t p = i % plane, c = i / plane % many(channels), n = i / plane / many(channels);
    to[(n * plane + p) * many(channels) + c] = from[i];
  }
};

// --- AdamW ------------------------------------------------------------------------------------

template <typename Value>
struct AdamWEach {
  float keep, beta1, beta2, step_size, inverse_root_correction, epsilon;
  const float* gradient;
  const float* share;          // of the gradient that clipping leaves; null: all of it
  const std::uint8_t* decays;  // of each element
  float *first, *second, *parameter;
  Value* copy;  // of the parameters, for products; null: none
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const float g = share == nullptr ? gradient[i] : *share * gradient[i];
    const float m = beta1 * first[i] + (1 - beta1) * g;
    const float v = beta2 * second[i] + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float kept = decays[i] != 0 ? parameter[i] * keep : parameter[i];
    const float moved = kept - step_size * m / (sqrtf(v) * inverse_root_correction + epsilon);
    parameter[i] = moved;
    if (copy != nullptr) copy[i] = moved;
  }
};

}  // namespace ocrtune::device
