// The numbers in the GPU core's memory: float, or bf16 (the upper half of one). Kernels are
// templates over such a Value: they load it as a float, compute in float or double, and storing
// rounds. Weights, their gradients, moments, statistics and sums are floats or doubles in any case.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

#include "core/gpu/ops/device_lane.h"

namespace ocrtune {

enum class Element { fp32, bf16 };

inline constexpr std::size_t bytes_of(Element element) { return element == Element::fp32 ? 4 : 2; }

struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  OCRTUNE_BOTH explicit Bf16(float value) : bits(rounded(value)) {}
  OCRTUNE_BOTH Bf16& operator=(float value) {
    bits = rounded(value);
    return *this;
  }
  OCRTUNE_BOTH operator float() const {  // NOLINT(google-explicit-constructor): a load
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
#ifdef __CUDA_ARCH__
    return __uint_as_float(word);
#else
    return std::bit_cast<float>(word);
#endif
  }

  // To the nearest, ties to even; NaN stays NaN.
  OCRTUNE_BOTH static std::uint16_t rounded(float value) {
#ifdef __CUDA_ARCH__
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
#endif
  }
};

template <typename Value>
inline constexpr Element kElementOf =
    std::is_same_v<std::remove_cv_t<Value>, Bf16> ? Element::bf16 : Element::fp32;

// A matrix of a batched product: `stride` numbers from one row to the next as stored, `step` from
// one batch to the next (0: the same for all).
struct DeviceMatrix {
  template <typename Value>
  DeviceMatrix(const Value* from, int row_stride, bool across, std::size_t batch_step)
      : start(from),
        element(kElementOf<Value>),
        stride(row_stride),
        transposed(across),
        step(batch_step) {}
  const void* start;
  Element element;
  int stride;
  bool transposed;  // read as its transpose
  std::size_t step;
};

// Where a product goes.
struct DeviceCells {
  template <typename Value>
  DeviceCells(Value* to) : start(to), element(kElementOf<Value>) {}  // NOLINT: pointers are cells
  void* start;
  Element element;
};

// C[batch][rows, columns] = scale A B + beta C, all row-major. A and B are of one type; sums are
// floats and rounded once, to C's type.
struct DeviceProduct {
  int batch, rows, columns, depth;
  DeviceMatrix a, b;
  DeviceCells c;
  int c_stride;
  std::size_t c_step;
  float scale = 1, beta = 0;
};

}  // namespace ocrtune
