// The input is one run of floats, whatever its layout, cut into chunks for the team. Four sums, the
// gradients of the four numbers, are added up by lane, then by chunk in double.
#include <algorithm>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/vector_activation.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

// The size of a chunk is a guess: 16 KiB of floats.
constexpr std::size_t kChunk = 4096;

struct AffineNumbers {
  float s0 = 1, t0 = 0, s1 = 1, t1 = 0;
};

template <Activation kActivation>
[[gnu::always_inline]] inline void affine_all(const AffineNumbers& a, const float* __restrict x,
                                              float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = a.s1 * vector_activate<kActivation>(a.s0 * x[i] + a.t0) + a.t1;
  }
}

OCRTUNE_SIMD void affine_range(Activation activation, const AffineNumbers& a, const float* x,
                               float* y, std::size_t count) {
  OCRTUNE_FOR_ACTIVATION(activation, affine_all, a, x, y, count);
}

constexpr std::size_t kLanes = 16;

// Writes dx and adds to four runs of lanes: the gradients of s0, t0, s1, t1.
template <Activation kActivation>
[[gnu::always_inline]] inline void slope_all(const AffineNumbers& a, const float* __restrict x,
                                             const float* __restrict dy, float* __restrict dx,
                                             std::size_t count, float* __restrict sums) {
  const auto visit = [=](std::size_t i, std::size_t lane) __attribute__((always_inline)) {
    const float inner = a.s0 * x[i] + a.t0;
    const float slope = a.s1 * vector_slope<kActivation>(inner) * dy[i];
    sums[lane] += slope * x[i];
    sums[kLanes + lane] += slope;
    sums[2 * kLanes + lane] += vector_activate<kActivation>(inner) * dy[i];
    sums[3 * kLanes + lane] += dy[i];
    dx[i] = a.s0 * slope;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC ivdep
    for (std::size_t lane = 0; lane < kLanes; ++lane) visit(i + lane, lane);
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) visit(i + lane, lane);
}

OCRTUNE_SIMD void slope_range(Activation activation, const AffineNumbers& a, const float* x,
                              const float* dy, float* dx, std::size_t count, float* sums) {
  OCRTUNE_FOR_ACTIVATION(activation, slope_all, a, x, dy, dx, count, sums);
}

class FastAffine final : public Operator {
 public:
  FastAffine(const Affine& affine, const ImageDesc& in)
      : activation_(affine.activation), in_(in), floats_(in.floats()) {
    needs_.output_layout = in.layout;
    needs_.backward_scratch_bytes = chunks() * 4 * sizeof(double);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const AffineNumbers numbers = numbers_of(call);
#pragma omp parallel for schedule(static)
    for (std::size_t first = 0; first < floats_; first += kChunk) {
      affine_range(activation_, numbers, call.inputs[0] + first, call.output + first,
                   std::min(kChunk, floats_ - first));
    }
    clear_padding(call.output);
    return Status();
  }

  // The gradient of padding is 0, so padding adds nothing to the sums.
  Status backward(const OperatorCall& call) override {
    const AffineNumbers numbers = numbers_of(call);
    auto* totals = reinterpret_cast<double*>(call.scratch);
#pragma omp parallel for schedule(static)
    for (std::size_t chunk = 0; chunk < chunks(); ++chunk) {
      float sums[4 * kLanes] = {}, unwanted[kChunk];
      const std::size_t first = chunk * kChunk;
      // The loop always writes dx; where it is not wanted, it goes to the stack.
      float* dx = call.input_gradients[0] == nullptr ? unwanted : call.input_gradients[0] + first;
      slope_range(activation_, numbers, call.inputs[0] + first, call.output_gradient + first, dx,
                  std::min(kChunk, floats_ - first), sums);
      for (std::size_t k = 0; k < 4; ++k) {
        double total = 0;
        for (std::size_t l = 0; l < kLanes; ++l) total += static_cast<double>(sums[k * kLanes + l]);
        totals[chunk * 4 + k] = total;
      }
    }
    for (std::size_t k = 0; k < 4; ++k) {
      double total = 0;
      for (std::size_t chunk = 0; chunk < chunks(); ++chunk) total += totals[chunk * 4 + k];
      *call.parameter_gradients[k] = static_cast<float>(total);
    }
    return Status();
  }

 private:
  std::size_t chunks() const { return (floats_ + kChunk - 1) / kChunk; }
  static AffineNumbers numbers_of(const OperatorCall& call) {
    return {*call.parameters[0], *call.parameters[1], *call.parameters[2], *call.parameters[3]};
  }
  // The shifts would put numbers into channels that only fill up the last block.
  void clear_padding(float* y) const {
    const auto block = static_cast<std::size_t>(in_.layout.block);
    const auto kept = block - static_cast<std::size_t>(in_.padded_channels() - in_.shape.c);
    if (kept == block) return;
    const auto blocks = static_cast<std::size_t>(in_.blocks());
    for (std::size_t n = 0; n < static_cast<std::size_t>(in_.shape.n); ++n) {
      float* last = y + ((n + 1) * blocks - 1) * in_.pixels() * block;
      for (std::size_t p = 0; p < in_.pixels(); ++p) {
        std::fill(last + p * block + kept, last + (p + 1) * block, 0.0F);
      }
    }
  }

  Activation activation_;
  ImageDesc in_;
  std::size_t floats_;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_affine(const Affine& affine, const ImageDesc& in) {
  return std::make_unique<FastAffine>(affine, in);
}

}  // namespace ocrtune
