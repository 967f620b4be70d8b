// The activation functions in the form that compilers vectorise; checked against
// core/graph/activation.h.
#pragma once

#include "core/graph/graph.h"
#include "core/simd/vector_math.h"

namespace ocrtune {

// The error function, absolute error below 1.5e-7: Abramowitz and Stegun 7.1.26.
[[gnu::always_inline]] inline float fast_erf(float x) {
  const float size = x < 0 ? -x : x;
  const float t = 1.0F / (1.0F + 0.3275911F * size);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float tail = p * t * fast_exp(-size * size);
  const float value = 1.0F - tail;
  return x < 0 ? -value : value;
}

[[gnu::always_inline]] inline float clamp_sixth(float x) {  // relu6(x + 3) / 6
  const float low = x + 3.0F < 0.0F ? 0.0F : x + 3.0F;
  return (low > 6.0F ? 6.0F : low) * (1.0F / 6.0F);
}

template <Activation kActivation>
[[gnu::always_inline]] inline float vector_activate(float x) {
  if constexpr (kActivation == Activation::relu) return x > 0.0F ? x : 0.0F;
  if constexpr (kActivation == Activation::hard_swish) return x * clamp_sixth(x);
  if constexpr (kActivation == Activation::hard_sigmoid) return clamp_sixth(x);
  if constexpr (kActivation == Activation::gelu) {
    return 0.5F * x * (1.0F + fast_erf(x * 0.70710678118654752F));
  }
  if constexpr (kActivation == Activation::swish) return x * fast_sigmoid(x);
  return x;
}

template <Activation kActivation>
[[gnu::always_inline]] inline float vector_slope(float x) {
  if constexpr (kActivation == Activation::relu) return x > 0.0F ? 1.0F : 0.0F;
  if constexpr (kActivation == Activation::hard_swish) {
    const float inner = (2.0F * x + 3.0F) * (1.0F / 6.0F);
    return x <= -3.0F ? 0.0F : x >= 3.0F ? 1.0F : inner;
  }
  if constexpr (kActivation == Activation::hard_sigmoid) {
    const float above = x <= -3.0F ? 0.0F : 1.0F / 6.0F;
    return x >= 3.0F ? 0.0F : above;
  }
  if constexpr (kActivation == Activation::gelu) {
    const float density = 0.39894228040143268F * fast_exp(-0.5F * x * x);
    return 0.5F * (1.0F + fast_erf(x * 0.70710678118654752F)) + x * density;
  }
  if constexpr (kActivation == Activation::swish) {
    const float sigmoid = fast_sigmoid(x);
    return sigmoid * (1.0F + x * (1.0F - sigmoid));
  }
  return 1.0F;
}

}  // namespace ocrtune

// Calls function<A>(...) for the activation that `value` holds at run time.
#define OCRTUNE_FOR_ACTIVATION(value, function, ...)   \
  switch (value) {                                     \
    case Activation::none:                             \
      function<Activation::none>(__VA_ARGS__);         \
      break;                                           \
    case Activation::relu:                             \
      function<Activation::relu>(__VA_ARGS__);         \
      break;                                           \
    case Activation::hard_swish:                       \
      function<Activation::hard_swish>(__VA_ARGS__);   \
      break;                                           \
    case Activation::hard_sigmoid:                     \
      function<Activation::hard_sigmoid>(__VA_ARGS__); \
      break;                                           \
    case Activation::gelu:                             \
      function<Activation::gelu>(__VA_ARGS__);         \
      break;                                           \
    case Activation::swish:                            \
      function<Activation::swish>(__VA_ARGS__);        \
      break;                                           \
  }
