// The bidirectional LSTM of the GPU core: one product for all input gates, then a product and a
// kernel for each time step; both directions at once. Gates i, f, g, o
// (core/backends/reference/reference_lstm.h).
#pragma once

#include "core/gpu/ops/device_linear.h"

namespace ocrtune::device {

// Kept by forward, each indexed [direction][step in its own order][sample]:
//   gates [4h] after their functions, cell [h], hidden [h].
struct LstmSizes {
  int count, channels, steps, hidden;
  OCRTUNE_BOTH std::size_t moment(int direction, int step, std::size_t n) const {
    return (many(direction) * many(steps) + many(step)) * many(count) + n;
  }
  // The image column of a step.
  OCRTUNE_BOTH int column(int direction, int step) const {
    return direction == 0 ? step : steps - 1 - step;
  }
  OCRTUNE_BOTH std::size_t moments() const { return 2 * many(steps) * many(count); }
};

OCRTUNE_BOTH inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// i counts [direction][n][k]. `from_input` [N, 8h, T] and `recurrent` [2, N, 4h] are the products.
template <typename Value>
struct LstmCellEach {
  LstmSizes plan;
  int step;
  const Value* from_input;
  const float *recurrent, *bias_ih, *bias_hh;
  Value* gates;
  float* cell;
  Value *hidden, *y;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t h = many(plan.hidden), k = i % h, n = i / h % many(plan.count);
    const int direction = static_cast<int>(i / h / many(plan.count));
    const int t = plan.column(direction, step);
    const std::size_t now = plan.moment(direction, step, n);
    float value[4];
    for (std::size_t g = 0; g < 4; ++g) {
      const std::size_t row = many(direction) * 4 * h + g * h + k;
      float sum =
          from_input[(n * 8 * h + row) * many(plan.steps) + many(t)] + bias_ih[row] + bias_hh[row];
      if (step > 0) sum += recurrent[(many(direction) * many(plan.count) + n) * 4 * h + g * h + k];
      value[g] = g == 2 ? tanhf(sum) : sigmoid(sum);
      gates[now * 4 * h + g * h + k] = value[g];
    }
    const float before = step > 0 ? cell[plan.moment(direction, step - 1, n) * h + k] : 0;
    const float c = value[1] * before + value[0] * value[2];
    const float out = value[3] * tanhf(c);
    cell[now * h + k] = c;
    hidden[now * h + k] = out;
    y[(n * 2 * h + many(direction) * h + k) * many(plan.steps) + many(t)] = out;
  }
};

// Gradients before the gates' functions, of one step, for the recurrence [2, T, N, 4h] and in the
// order of the image [N, 8h, T]. `carried` [2, N, h] is d(hidden) from the step after, `dc` [2, N,
// h] d(cell), both zero at the last step.
template <typename Value>
struct LstmBackEach {
  LstmSizes plan;
  int step;
  const Value* gates;
  const float* cell;
  const Value* dy;
  const float* carried;
  float* dc;
  Value *dgates, *dimage;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t h = many(plan.hidden), k = i % h, n = i / h % many(plan.count);
    const int direction = static_cast<int>(i / h / many(plan.count));
    const int t = plan.column(direction, step);
    const std::size_t now = plan.moment(direction, step, n);
    const Value* gate = gates + now * 4 * h + k;
    const float in = gate[0], forget = gate[h], fresh = gate[2 * h], out = gate[3 * h];
    const float squashed = tanhf(cell[now * h + k]);
    const float before = step > 0 ? cell[plan.moment(direction, step - 1, n) * h + k] : 0;
    const float dh =
        carried[i] + dy[(n * 2 * h + many(direction) * h + k) * many(plan.steps) + many(t)];
    const float dcell = dc[i] + dh * out * (1 - squashed * squashed);
    const float slope[4] = {dcell * fresh * in * (1 - in), dcell * before * forget * (1 - forget),
                            dcell * in * (1 - fresh * fresh), dh * squashed * out * (1 - out)};
    dc[i] = dcell * forget;
    for (std::size_t g = 0; g < 4; ++g) {
      dgates[now * 4 * h + g * h + k] = slope[g];
      const std::size_t row = many(direction) * 4 * h + g * h + k;
      dimage[(n * 8 * h + row) * many(plan.steps) + many(t)] = slope[g];
    }
  }
};

template <typename Executor, typename Value>
class DeviceLstm final : public DeviceOperator<Executor, Value> {
 public:
  DeviceLstm(Executor& executor, const BiLstm& lstm, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), in_(in), plan_{in.n, in.c, in.w, lstm.hidden} {
    const std::size_t h = many(lstm.hidden);
    this->needs_.saved_bytes = cell_bytes() + align_up(plan_.moments() * 4 * h * sizeof(Value)) +
                               plan_.moments() * h * sizeof(Value);
    this->needs_.forward_scratch_bytes = image_bytes() + 2 * many(in.n) * 4 * h * sizeof(float);
    this->needs_.backward_scratch_bytes =
        gates_bytes() + image_bytes() + 4 * many(in.n) * h * sizeof(float);
  }

  Status forward(const OperatorCall& call) override {
    const int h = plan_.hidden, rows = 8 * h;
    const Kept kept = kept_in(call.saved);
    auto* from_input = reinterpret_cast<Value*>(call.scratch);
    auto* recurrent = reinterpret_cast<float*>(call.scratch + image_bytes());
    OCRTUNE_TRY(this->executor_.product({in_.n,
                                         rows,
                                         in_.w,
                                         in_.c,
                                         {this->weight(call), in_.c, false, 0},
                                         {this->x(call), in_.w, false, many(in_.c) * many(in_.w)},
                                         from_input,
                                         in_.w,
                                         many(rows) * many(in_.w),
                                         1,
                                         0}));
    for (int step = 0; step < plan_.steps; ++step) {
      if (step > 0) {  // [N, h] of the step before, times the transpose of [4h, h]
        OCRTUNE_TRY(
            this->executor_.product({2,
                                     in_.n,
                                     4 * h,
                                     h,
                                     {kept.hidden + plan_.moment(0, step - 1, 0) * many(h), h,
                                      false, direction_step() * many(h)},
                                     {this->weight(call, 1), h, true, many(4 * h) * many(h)},
                                     recurrent,
                                     4 * h,
                                     many(in_.n) * many(4 * h),
                                     1,
                                     0}));
      }
      OCRTUNE_TRY(this->executor_.for_each(
          2 * many(in_.n) * many(h),
          LstmCellEach<Value>{plan_, step, from_input, recurrent, call.parameters[2],
                              call.parameters[3], kept.gates, kept.cell, kept.hidden,
                              this->y(call)}));
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    const int h = plan_.hidden;
    const Kept kept = kept_in(call.saved);
    auto* dgates = reinterpret_cast<Value*>(call.scratch);
    auto* dimage = reinterpret_cast<Value*>(call.scratch + gates_bytes());
    auto* carried = reinterpret_cast<float*>(call.scratch + gates_bytes() + image_bytes());
    float* dc = carried + 2 * many(in_.n) * many(h);
    OCRTUNE_TRY(this->executor_.clear(carried, 4 * many(in_.n) * many(h) * sizeof(float)));
    for (int step = plan_.steps - 1; step >= 0; --step) {
      OCRTUNE_TRY(this->executor_.for_each(
          2 * many(in_.n) * many(h),
          LstmBackEach<Value>{plan_, step, kept.gates, kept.cell, this->dy(call), carried, dc,
                              dgates, dimage}));
      if (step == 0) break;
      OCRTUNE_TRY(this->executor_.product({2,
                                           in_.n,
                                           h,
                                           4 * h,
                                           {dgates + plan_.moment(0, step, 0) * many(4 * h), 4 * h,
                                            false, direction_step() * many(4 * h)},
                                           {this->weight(call, 1), h, false, many(4 * h) * many(h)},
                                           carried,
                                           h,
                                           many(in_.n) * many(h),
                                           1,
                                           0}));
    }
    return finish(call, kept, dgates, dimage);
  }

 private:
  struct Kept {
    float* cell;
    Value *gates, *hidden;
  };
  Kept kept_in(std::byte* saved) const {
    const std::size_t gates = plan_.moments() * 4 * many(plan_.hidden) * sizeof(Value);
    return {reinterpret_cast<float*>(saved), reinterpret_cast<Value*>(saved + cell_bytes()),
            reinterpret_cast<Value*>(saved + cell_bytes() + align_up(gates))};
  }
  std::size_t cell_bytes() const {
    return align_up(plan_.moments() * many(plan_.hidden) * sizeof(float));
  }
  std::size_t image_bytes() const {
    return align_up(many(in_.n) * many(8 * plan_.hidden) * many(in_.w) * sizeof(Value));
  }
  WeightGradient weight_gradient() const { return {in_.n, 8 * plan_.hidden, in_.c, in_.w}; }
  SumSizes bias_sums() const { return sum_sizes(in_.n, 8 * plan_.hidden, many(in_.w)); }
  // The place of the gates' gradients in the recurrence's order, which finish() uses again.
  std::size_t gates_bytes() const {
    return align_up(
        std::max({plan_.moments() * many(4 * plan_.hidden) * sizeof(Value),
                  weight_gradient().scratch_bytes(), bias_sums().bytes(PlainTerm<Value>::kSums)}));
  }
  std::size_t direction_step() const { return many(plan_.steps) * many(in_.n); }

  // The gradients of weights, biases and input from those of the gates.
  Status finish(const OperatorCall& call, const Kept& kept, const Value* dgates,
                const Value* dimage) {
    const int h = plan_.hidden, rows = 8 * h, later = (plan_.steps - 1) * in_.n;
    const std::size_t image = many(rows) * many(in_.w), input = many(in_.c) * many(in_.w);
    if (later == 0) {
      OCRTUNE_TRY(
          this->executor_.clear(call.parameter_gradients[1], many(rows) * many(h) * sizeof(float)));
    } else {  // steps 1.. against the hidden values of steps 0..: both lie behind one another
      OCRTUNE_TRY(this->executor_.product(
          {2,
           4 * h,
           h,
           later,
           {dgates + many(in_.n) * many(4 * h), 4 * h, true, direction_step() * many(4 * h)},
           {kept.hidden, h, false, direction_step() * many(h)},
           call.parameter_gradients[1],
           h,
           many(4 * h) * many(h),
           1,
           0}));
    }
    // The gates' gradients in the recurrence's order are no longer needed, their place is.
    OCRTUNE_TRY(weight_gradient().run(this->executor_, dimage, this->x(call),
                                      call.parameter_gradients[0], call.scratch));
    for (const std::size_t bias : {2, 3}) {
      OCRTUNE_TRY(sum_channels(this->executor_, bias_sums(), PlainTerm<Value>{dimage},
                               StoreSum{call.parameter_gradients[bias]}, call.scratch));
    }
    if (this->dx(call) == nullptr) return Status();
    return this->executor_.product({in_.n,
                                    in_.c,
                                    in_.w,
                                    rows,
                                    {this->weight(call), in_.c, true, 0},
                                    {dimage, in_.w, false, image},
                                    this->dx(call),
                                    in_.w,
                                    input,
                                    1,
                                    0});
  }

  Shape in_;
  LstmSizes plan_;
};

}  // namespace ocrtune::device
