// Sum and activation run over all floats in chunks; concat and scaling know rows of tokens and
// blocks of channels.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/vector_activation.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

// The size of a chunk is a guess: 32 KiB of floats.
constexpr std::size_t kChunk = 8192;

OCRTUNE_SIMD void add_two(const float* __restrict a, const float* __restrict b,
                          float* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

OCRTUNE_SIMD void add_one(const float* __restrict a, float* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += a[i];
}

class FastSum final : public Operator {
 public:
  explicit FastSum(const ImageDesc& in) : floats_(in.floats()) {
    needs_.output_layout = in.layout;
    needs_.backward_reads_inputs = false;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
#pragma omp parallel for schedule(static)
    for (std::size_t first = 0; first < floats_; first += kChunk) {
      const std::size_t count = std::min(kChunk, floats_ - first);
      float* to = call.output + first;
      add_two(call.inputs[0] + first, call.inputs[1] + first, to, count);
      for (std::size_t k = 2; k < call.inputs.size(); ++k)
        add_one(call.inputs[k] + first, to, count);
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    for (float* gradient : call.input_gradients) {
      if (gradient != nullptr) std::copy_n(call.output_gradient, floats_, gradient);
    }
    return Status();
  }

 private:
  std::size_t floats_;
  OperatorNeeds needs_;
};

template <Activation kActivation>
[[gnu::always_inline]] inline void activate_all(const float* __restrict x, float* __restrict y,
                                                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = vector_activate<kActivation>(x[i]);
}

template <Activation kActivation>
[[gnu::always_inline]] inline void slope_all(const float* __restrict x, const float* __restrict dy,
                                             float* __restrict dx, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * vector_slope<kActivation>(x[i]);
}

OCRTUNE_SIMD void activate_range(Activation activation, const float* x, float* y,
                                 std::size_t count) {
  OCRTUNE_FOR_ACTIVATION(activation, activate_all, x, y, count);
}

OCRTUNE_SIMD void slope_range(Activation activation, const float* x, const float* dy, float* dx,
                              std::size_t count) {
  OCRTUNE_FOR_ACTIVATION(activation, slope_all, x, dy, dx, count);
}

class FastActivate final : public Operator {
 public:
  FastActivate(const Activate& activate, const ImageDesc& in)
      : activation_(activate.activation), floats_(in.floats()) {
    // Hard sigmoid of padding is not 0; the scaling that reads it multiplies padding that is.
    needs_.output_layout = in.layout;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
#pragma omp parallel for schedule(static)
    for (std::size_t first = 0; first < floats_; first += kChunk) {
      activate_range(activation_, call.inputs[0] + first, call.output + first,
                     std::min(kChunk, floats_ - first));
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] == nullptr) return Status();
#pragma omp parallel for schedule(static)
    for (std::size_t first = 0; first < floats_; first += kChunk) {
      slope_range(activation_, call.inputs[0] + first, call.output_gradient + first,
                  call.input_gradients[0] + first, std::min(kChunk, floats_ - first));
    }
    return Status();
  }

 private:
  Activation activation_;
  std::size_t floats_;
  OperatorNeeds needs_;
};

class FastConcat final : public Operator {
 public:
  explicit FastConcat(const OperatorRequest& request)
      : rows_(static_cast<std::size_t>(request.output.n) *
              ImageDesc{request.output, Layout{1}}.pixels()),
        channels_(static_cast<std::size_t>(request.output.c)) {
    for (const ImageDesc& input : request.inputs) {
      widths_.push_back(static_cast<std::size_t>(input.shape.c));
    }
    needs_.output_layout = Layout{request.output.c};
    needs_.backward_reads_inputs = false;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
#pragma omp parallel for schedule(static)
    for (std::size_t row = 0; row < rows_; ++row) {
      float* to = call.output + row * channels_;
      for (std::size_t k = 0; k < widths_.size(); to += widths_[k], ++k) {
        std::memcpy(to, call.inputs[k] + row * widths_[k], widths_[k] * sizeof(float));
      }
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
#pragma omp parallel for schedule(static)
    for (std::size_t row = 0; row < rows_; ++row) {
      const float* from = call.output_gradient + row * channels_;
      for (std::size_t k = 0; k < widths_.size(); from += widths_[k], ++k) {
        if (call.input_gradients[k] == nullptr) continue;
        std::memcpy(call.input_gradients[k] + row * widths_[k], from, widths_[k] * sizeof(float));
      }
    }
    return Status();
  }

 private:
  std::size_t rows_, channels_;
  std::vector<std::size_t> widths_;
  OperatorNeeds needs_;
};

// Pixels of one channel block times the block's factors.
OCRTUNE_SIMD void scale_pixels(const float* __restrict x, const float* __restrict factors,
                               std::size_t pixels, std::size_t block, float* __restrict y) {
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t l = 0; l < block; ++l) y[p * block + l] = x[p * block + l] * factors[l];
  }
}

OCRTUNE_SIMD void sum_products(const float* __restrict x, const float* __restrict dy,
                               std::size_t pixels, std::size_t block, float* __restrict sums) {
  for (std::size_t l = 0; l < block; ++l) sums[l] = 0;
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t l = 0; l < block; ++l) sums[l] += x[p * block + l] * dy[p * block + l];
  }
}

class FastScale final : public Operator {
 public:
  explicit FastScale(const ImageDesc& in)
      : groups_(static_cast<std::size_t>(in.shape.n) * static_cast<std::size_t>(in.blocks())),
        pixels_(in.pixels()),
        block_(static_cast<std::size_t>(in.layout.block)) {
    needs_.output_layout = in.layout;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const std::size_t size = pixels_ * block_;
#pragma omp parallel for schedule(static)
    for (std::size_t g = 0; g < groups_; ++g) {
      scale_pixels(call.inputs[0] + g * size, call.inputs[1] + g * block_, pixels_, block_,
                   call.output + g * size);
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    const std::size_t size = pixels_ * block_;
#pragma omp parallel for schedule(static)
    for (std::size_t g = 0; g < groups_; ++g) {
      const float* dy = call.output_gradient + g * size;
      if (call.input_gradients[0] != nullptr) {
        scale_pixels(dy, call.inputs[1] + g * block_, pixels_, block_,
                     call.input_gradients[0] + g * size);
      }
      if (call.input_gradients[1] != nullptr) {
        sum_products(call.inputs[0] + g * size, dy, pixels_, block_,
                     call.input_gradients[1] + g * block_);
      }
    }
    return Status();
  }

 private:
  std::size_t groups_, pixels_, block_;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_activate(const Activate& activate, const ImageDesc& in) {
  return std::make_unique<FastActivate>(activate, in);
}

std::unique_ptr<Operator> make_fast_concat(const OperatorRequest& request) {
  return std::make_unique<FastConcat>(request);
}

std::unique_ptr<Operator> make_fast_scale(const ImageDesc& in) {
  return std::make_unique<FastScale>(in);
}

std::unique_ptr<Operator> make_fast_sum(const ImageDesc& in) {
  return std::make_unique<FastSum>(in);
}

}  // namespace ocrtune
