// Each row of tokens is normed by its own mean and deviation, which forward keeps for backward.
// Gradients of scale and shift are summed per thread, in blocks of rows, then over the team.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/backends/onednn/fast_operators.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

struct RowScale {
  float mean, inverse;
};

OCRTUNE_SIMD RowScale norm_row(const float* __restrict x, const float* __restrict gamma,
                               const float* __restrict beta, std::size_t count, float epsilon,
                               float* __restrict y) {
  // Two passes: the mean first, then squares about it, which lose fewer digits.
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < count; ++c) sum += x[c];
  const float mean = sum / static_cast<float>(count);
#pragma omp simd reduction(+ : squares)
  for (std::size_t c = 0; c < count; ++c) squares += (x[c] - mean) * (x[c] - mean);
  const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(count) + epsilon);
  for (std::size_t c = 0; c < count; ++c) y[c] = (x[c] - mean) * inverse * gamma[c] + beta[c];
  return {mean, inverse};
}

// dx of one row; its shares of dgamma and dbeta are added.
OCRTUNE_SIMD void norm_row_gradient(const RowScale& scale, const float* __restrict x,
                                    const float* __restrict gamma, const float* __restrict dy,
                                    std::size_t count, float* __restrict dgamma,
                                    float* __restrict dbeta, float* __restrict dx) {
  const float mean = scale.mean, inverse = scale.inverse;
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::size_t c = 0; c < count; ++c) {
    const float normal = (x[c] - mean) * inverse;
    const float slope = dy[c] * gamma[c];
    sum += slope;
    product += slope * normal;
    dgamma[c] += dy[c] * normal;
    dbeta[c] += dy[c];
  }
  // dx = inverse (g - mean(g) - normal mean(g normal)) with g = dy gamma.
  const float share = 1.0F / static_cast<float>(count);
  for (std::size_t c = 0; c < count; ++c) {
    const float normal = (x[c] - mean) * inverse;
    dx[c] = inverse * (dy[c] * gamma[c] - share * (sum + normal * product));
  }
}

OCRTUNE_SIMD void add_row(const float* __restrict from, std::size_t count, float* __restrict to) {
  for (std::size_t c = 0; c < count; ++c) to[c] += from[c];
}

constexpr std::size_t kRowBlock = 64;  // rows whose sums stay by themselves: less rounding

class FastLayerNorm final : public Operator {
 public:
  FastLayerNorm(const LayerNorm& norm, const Shape& in)
      : epsilon_(static_cast<float>(norm.epsilon)),
        rows_(static_cast<std::size_t>(in.n) * ImageDesc{in, Layout{1}}.pixels()),
        channels_(static_cast<std::size_t>(in.c)),
        team_(static_cast<std::size_t>(omp_get_max_threads())) {
    needs_.output_layout = Layout{in.c};
    needs_.saved_bytes = rows_ * sizeof(RowScale);
    // Each thread: two sums for all its rows, two for a block of them.
    needs_.backward_scratch_bytes = team_ * 4 * channels_ * sizeof(float);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    auto* scales = reinterpret_cast<RowScale*>(call.saved);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < rows_; ++i) {
      scales[i] = norm_row(call.inputs[0] + i * channels_, call.parameters[0], call.parameters[1],
                           channels_, epsilon_, call.output + i * channels_);
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    auto* sums = reinterpret_cast<float*>(call.scratch);
    std::fill_n(sums, team_ * 4 * channels_, 0.0F);
#pragma omp parallel
    {
      float* total = sums + static_cast<std::size_t>(omp_get_thread_num()) * 4 * channels_;
      float* block = total + 2 * channels_;
#pragma omp for schedule(static)
      for (std::size_t first = 0; first < rows_; first += kRowBlock) {
        std::fill_n(block, 2 * channels_, 0.0F);
        backward_rows(call, first, std::min(rows_, first + kRowBlock), block);
        add_row(block, 2 * channels_, total);
      }
    }
    for (std::size_t thread = 1; thread < team_; ++thread) {
      add_row(sums + thread * 4 * channels_, 2 * channels_, sums);
    }
    std::copy_n(sums, channels_, call.parameter_gradients[0]);
    std::copy_n(sums + channels_, channels_, call.parameter_gradients[1]);
    return Status();
  }

 private:
  void backward_rows(const OperatorCall& call, std::size_t first, std::size_t last,
                     float* block) const {
    const auto* scales = reinterpret_cast<const RowScale*>(call.saved);
    for (std::size_t i = first; i < last; ++i) {
      norm_row_gradient(scales[i], call.inputs[0] + i * channels_, call.parameters[0],
                        call.output_gradient + i * channels_, channels_, block, block + channels_,
                        call.input_gradients[0] + i * channels_);
    }
  }

  float epsilon_;
  std::size_t rows_, channels_, team_;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_layer_norm(const LayerNorm& norm, const Shape& in) {
  return std::make_unique<FastLayerNorm>(norm, in);
}

}  // namespace ocrtune
