// exp and its relatives as straight-line float code that compilers turn into vector code.
//
// Relative error of fast_exp below 2e-7 in [-87, 88]; arguments outside are clamped.
// Source: range reduction and polynomial as in Cephes expf (Moshier).
#pragma once

#include <bit>
#include <cstdint>

namespace ocrtune {

[[gnu::always_inline]] inline float fast_exp(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
  const float shifted = x * 1.44269504088896341F + 12582912.0F;
  const float whole = shifted - 12582912.0F;
  const float r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float fraction = p * r * r + r + 1.0F;
  const std::int32_t exponent = (std::bit_cast<std::int32_t>(shifted) - 0x4B400000 + 127) << 23;
  return fraction * std::bit_cast<float>(exponent);
}

[[gnu::always_inline]] inline float fast_sigmoid(float x) { return 1.0F / (1.0F + fast_exp(-x)); }

// Absolute error below 1e-7.
[[gnu::always_inline]] inline float fast_tanh(float x) {
  return 1.0F - 2.0F / (1.0F + fast_exp(2.0F * x));
}

}  // namespace ocrtune
