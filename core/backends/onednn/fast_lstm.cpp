// Forward: one product gives the weighted inputs of all steps, then the steps add the recurrent
// part. Backward walks the steps in reverse for the gates' gradients; large products do the rest.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/gemm.h"
#include "core/backends/onednn/rows.h"
#include "core/simd/simd.h"
#include "core/simd/vector_math.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxRows = 16;  // samples that go through the small products together

// One sample at one time step. `gates` [4h] comes in as the weighted sums and goes out as the
// values of the gates.
OCRTUNE_SIMD void step_gates(std::size_t h, const float* __restrict bias,
                             const float* __restrict cell_before, float* __restrict gates,
                             float* __restrict cell, float* __restrict hidden) {
  for (std::size_t k = 0; k < h; ++k) {
    const float i = fast_sigmoid(gates[k] + bias[k]);
    const float f = fast_sigmoid(gates[h + k] + bias[h + k]);
    const float g = fast_tanh(gates[2 * h + k] + bias[2 * h + k]);
    const float o = fast_sigmoid(gates[3 * h + k] + bias[3 * h + k]);
    const float c = f * cell_before[k] + i * g;
    gates[k] = i;
    gates[h + k] = f;
    gates[2 * h + k] = g;
    gates[3 * h + k] = o;
    cell[k] = c;
    hidden[k] = o * fast_tanh(c);
  }
}

// Turns gate values into gradients of the weighted sums, in place. dcell carries the gradient of
// the cell from step to step.
OCRTUNE_SIMD void step_gate_gradients(std::size_t h, const float* __restrict cell_before,
                                      const float* __restrict cell, const float* __restrict dy,
                                      const float* __restrict dhidden, float* __restrict dcell,
                                      float* __restrict gates) {
  for (std::size_t k = 0; k < h; ++k) {
    const float i = gates[k], f = gates[h + k], g = gates[2 * h + k], o = gates[3 * h + k];
    // The gates are there as values, so the slope of a sigmoid s is s (1 - s), of a tanh t 1 - t^2.
    const float squashed = fast_tanh(cell[k]);
    const float dh = dy[k] + dhidden[k];
    const float dc = dcell[k] + dh * o * (1.0F - squashed * squashed);
    gates[k] = dc * g * i * (1.0F - i);
    gates[h + k] = dc * cell_before[k] * f * (1.0F - f);
    gates[2 * h + k] = dc * i * (1.0F - g * g);
    gates[3 * h + k] = dh * squashed * o * (1.0F - o);
    dcell[k] = dc * f;
  }
}

class FastLstm final : public Operator {
 public:
  FastLstm(const BiLstm& lstm, const Shape& in)
      : hidden_(static_cast<std::size_t>(lstm.hidden)),
        channels_(static_cast<std::size_t>(in.c)),
        samples_(static_cast<std::size_t>(in.n)),
        steps_(static_cast<std::size_t>(in.w)) {
    const std::size_t rows = samples_ * steps_;
    // gates [N, T, 2, 4h], cells [N, T, 2, h]
    gates_bytes_ = align_up(rows * 8 * hidden_ * sizeof(float));
    needs_.output_layout = Layout{2 * lstm.hidden};
    needs_.backward_reads_output = true;
    needs_.saved_bytes = gates_bytes_ + rows * 2 * hidden_ * sizeof(float);
    // The recurrent weights turned round, and the sum of both biases.
    needs_.forward_scratch_bytes = 8 * hidden_ * (hidden_ + 1) * sizeof(float);
    // The hidden states of the step before, and room for column sums.
    shifted_bytes_ = align_up(rows * 2 * hidden_ * sizeof(float));
    needs_.backward_scratch_bytes = shifted_bytes_ + column_sum_scratch_bytes(8 * hidden_);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    auto* turned = reinterpret_cast<float*>(call.scratch);
    float* bias = turned + 8 * hidden_ * hidden_;
    turn_recurrent_weights(call.parameters[1], turned);
    for (std::size_t j = 0; j < 8 * hidden_; ++j) {
      bias[j] = call.parameters[2][j] + call.parameters[3][j];
    }
    const Status projected =
        gemm(samples_ * steps_, 8 * hidden_, channels_, {call.inputs[0], channels_, false},
             {call.parameters[0], channels_, true}, 0.0F, gates(call), 8 * hidden_);
    if (!projected) return projected;
    over_sequences([&](std::size_t d, std::size_t first, std::size_t count) {
      run_forward(call, turned, bias, d, first, count);
    });
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    over_sequences([&](std::size_t d, std::size_t first, std::size_t count) {
      run_backward(call, d, first, count);
    });
    return multiply_gradients(call);
  }

 private:
  float* gates(const OperatorCall& call) const { return reinterpret_cast<float*>(call.saved); }
  float* cells(const OperatorCall& call) const {
    return reinterpret_cast<float*>(call.saved + gates_bytes_);
  }
  // Rows [n][t] of direction d in the three arrays.
  std::size_t row(std::size_t n, std::size_t t) const { return n * steps_ + t; }
  std::size_t gate_at(std::size_t n, std::size_t t, std::size_t d) const {
    return (row(n, t) * 2 + d) * 4 * hidden_;
  }
  std::size_t cell_at(std::size_t n, std::size_t t, std::size_t d) const {
    return (row(n, t) * 2 + d) * hidden_;
  }
  // Time of the step-th move of direction d.
  std::size_t time(std::size_t d, std::size_t step) const {
    return d == 0 ? step : steps_ - 1 - step;
  }

  // [2, 4h, h] -> [2, h, 4h], so that a row is contiguous in the products.
  void turn_recurrent_weights(const float* weights, float* turned) const {
    for (std::size_t d = 0; d < 2; ++d) {
      const float* from = weights + d * 4 * hidden_ * hidden_;
      float* to = turned + d * 4 * hidden_ * hidden_;
      for (std::size_t g = 0; g < 4 * hidden_; ++g) {
        for (std::size_t k = 0; k < hidden_; ++k) to[k * 4 * hidden_ + g] = from[g * hidden_ + k];
      }
    }
  }

  template <typename Run>
  void over_sequences(const Run& run) const {
    const auto team = static_cast<std::size_t>(omp_get_max_threads());
    // Two directions for each group of samples: half as many groups as threads keep the team busy.
    const std::size_t groups = std::max<std::size_t>(1, (team + 1) / 2);
    const std::size_t share = (samples_ + groups - 1) / groups;
    const std::size_t rows = std::min(kMaxRows, share);
    const std::size_t chunks = (samples_ + rows - 1) / rows;
#pragma omp parallel for schedule(dynamic)
    for (std::size_t task = 0; task < 2 * chunks; ++task) {
      const std::size_t first = task / 2 * rows;
      run(task % 2, first, std::min(rows, samples_ - first));
    }
  }

  void run_forward(const OperatorCall& call, const float* turned, const float* bias, std::size_t d,
                   std::size_t first, std::size_t count) const {
    const std::vector<float> zero(hidden_, 0.0F);
    const std::size_t stride = steps_ * 8 * hidden_, out_stride = steps_ * 2 * hidden_;
    for (std::size_t step = 0; step < steps_; ++step) {
      const std::size_t t = time(d, step);
      if (step > 0) {
        small_gemm(count, 4 * hidden_, hidden_,
                   {call.output + cell_at(first, time(d, step - 1), d), out_stride, false},
                   turned + d * 4 * hidden_ * hidden_, 4 * hidden_, true,
                   gates(call) + gate_at(first, t, d), stride);
      }
      for (std::size_t n = first; n < first + count; ++n) {
        const float* before =
            step == 0 ? zero.data() : cells(call) + cell_at(n, time(d, step - 1), d);
        step_gates(hidden_, bias + d * 4 * hidden_, before, gates(call) + gate_at(n, t, d),
                   cells(call) + cell_at(n, t, d), call.output + cell_at(n, t, d));
      }
    }
  }

  void run_backward(const OperatorCall& call, std::size_t d, std::size_t first,
                    std::size_t count) const {
    const std::vector<float> zero(hidden_, 0.0F);
    std::vector<float> dhidden(count * hidden_, 0.0F), dcell(count * hidden_, 0.0F);
    auto* shifted = reinterpret_cast<float*>(call.scratch);
    const float* weights = call.parameters[1] + d * 4 * hidden_ * hidden_;
    for (std::size_t step = steps_; step-- > 0;) {
      const std::size_t t = time(d, step);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t n = first + i;
        const std::size_t before = step == 0 ? 0 : cell_at(n, time(d, step - 1), d);
        // The hidden states of the step before, in rows beside the gates, make the gradient of the
        // recurrent weights one product.
        std::memcpy(shifted + cell_at(n, t, d), step == 0 ? zero.data() : call.output + before,
                    hidden_ * sizeof(float));
        step_gate_gradients(hidden_, step == 0 ? zero.data() : cells(call) + before,
                            cells(call) + cell_at(n, t, d), call.output_gradient + cell_at(n, t, d),
                            dhidden.data() + i * hidden_, dcell.data() + i * hidden_,
                            gates(call) + gate_at(n, t, d));
      }
      if (step == 0) break;
      small_gemm(count, hidden_, 4 * hidden_,
                 {gates(call) + gate_at(first, t, d), steps_ * 8 * hidden_, false}, weights,
                 hidden_, false, dhidden.data(), hidden_);
    }
  }

  // The gate gradients of all steps are there: everything else is large products.
  Status multiply_gradients(const OperatorCall& call) const {
    const std::size_t rows = samples_ * steps_;
    const auto* shifted = reinterpret_cast<const float*>(call.scratch);
    sum_columns(gates(call), rows, 8 * hidden_, 8 * hidden_, call.scratch + shifted_bytes_,
                call.parameter_gradients[2]);
    // Both biases are added to the same sum, so their gradients are equal.
    std::copy_n(call.parameter_gradients[2], 8 * hidden_, call.parameter_gradients[3]);
    for (std::size_t d = 0; d < 2; ++d) {
      const Status recurrent =
          gemm(4 * hidden_, hidden_, rows, {gates(call) + d * 4 * hidden_, 8 * hidden_, true},
               {shifted + d * hidden_, 2 * hidden_, false}, 0.0F,
               call.parameter_gradients[1] + d * 4 * hidden_ * hidden_, hidden_);
      if (!recurrent) return recurrent;
    }
    const Status input =
        gemm(8 * hidden_, channels_, rows, {gates(call), 8 * hidden_, true},
             {call.inputs[0], channels_, false}, 0.0F, call.parameter_gradients[0], channels_);
    if (!input || call.input_gradients[0] == nullptr) return input;
    return gemm(rows, channels_, 8 * hidden_, {gates(call), 8 * hidden_, false},
                {call.parameters[0], channels_, false}, 0.0F, call.input_gradients[0], channels_);
  }

  std::size_t hidden_, channels_, samples_, steps_;
  std::size_t gates_bytes_ = 0, shifted_bytes_ = 0;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_lstm(const BiLstm& lstm, const Shape& in) {
  return std::make_unique<FastLstm>(lstm, in);
}

}  // namespace ocrtune
