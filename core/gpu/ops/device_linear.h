// Linear layers of the GPU core, and the gradients of their weights as products.
#pragma once

#include <algorithm>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct FoldEach {  // parts [count, size]
  std::size_t count, size;
  const float* parts;
  float* to;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t part = 0; part < count; ++part) sum += parts[part * size + i];
    to[i] = static_cast<float>(sum);
  }
};

// dW [rows, columns] = the sum over samples of dY[n] X[n]^T, where both are [.., plane]: so many
// sums side by side as fit a bounded scratch, then their sum.
struct WeightGradient {
  int count, rows, columns, plane;
  int groups() const {
    constexpr std::size_t kMaxFloats = std::size_t{4} << 20;
    int most = static_cast<int>(std::min<std::size_t>(
        many(count), std::max<std::size_t>(1, kMaxFloats / (many(rows) * many(columns)))));
    while (count % most != 0) --most;
    return most;
  }
  std::size_t scratch_bytes() const {
    return groups() == 1 ? 0 : many(groups()) * many(rows) * many(columns) * sizeof(float);
  }
  template <typename Executor, typename Value>
  Status run(Executor& executor, const Value* dy, const Value* x, float* dw,
             std::byte* scratch) const {
    const std::size_t y_step = many(rows) * many(plane), x_step = many(columns) * many(plane);
    const std::size_t weights = many(rows) * many(columns);
    const int parts = groups(), each = count / parts;
    float* to = parts == 1 ? dw : reinterpret_cast<float*>(scratch);
    for (int n = 0; n < each; ++n) {
      OCRTUNE_TRY(executor.product({parts,
                                    rows,
                                    columns,
                                    plane,
                                    {dy + many(n) * y_step, plane, false, many(each) * y_step},
                                    {x + many(n) * x_step, plane, true, many(each) * x_step},
                                    to,
                                    columns,
                                    weights,
                                    1,
                                    n == 0 ? 0.0F : 1.0F}));
    }
    if (parts == 1) return Status();
    return executor.for_each(weights, FoldEach{many(parts), weights, to, dw});
  }
};

// y[n] = W x[n] at all pixels at once: x[n] is a matrix [C, pixels].
template <typename Executor, typename Value>
class DeviceLinear final : public DeviceOperator<Executor, Value> {
 public:
  // `kind` is the activation behind the bias; only where nothing is trained.
  DeviceLinear(Executor& executor, const Linear& linear, const Shape& in,
               Activation kind = Activation::none)
      : DeviceOperator<Executor, Value>(executor), linear_(linear), in_(in), kind_(kind) {
    this->needs_.backward_scratch_bytes =
        std::max(weight_gradient().scratch_bytes(), bias_sums().bytes(PlainTerm<Value>::kSums));
  }
  Status forward(const OperatorCall& call) override {
    const int out = linear_.out_channels, plane = static_cast<int>(pixels(in_));
    const DeviceProduct product{in_.n,
                                out,
                                plane,
                                in_.c,
                                {this->weight(call), in_.c, false, 0},
                                {this->x(call), plane, false, many(in_.c) * pixels(in_)},
                                this->y(call),
                                plane,
                                many(out) * pixels(in_),
                                1,
                                0};
    OCRTUNE_TRY(this->executor_.product(product));
    if (linear_.bias) {
      return this->executor_.rows(
          many(in_.n) * many(out),
          BiasRow<Value>{call.parameters[1], out, pixels(in_), kind_, this->y(call)});
    }
    if (kind_ == Activation::none) return Status();
    return spans(this->executor_, many(in_.n) * many(out) * pixels(in_),
                 ActivateSpan<Value>{kind_, this->y(call), this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    const int out = linear_.out_channels, plane = static_cast<int>(pixels(in_));
    const std::size_t in_step = many(in_.c) * pixels(in_), out_step = many(out) * pixels(in_);
    if (this->dx(call) != nullptr) {
      OCRTUNE_TRY(this->executor_.product({in_.n,
                                           in_.c,
                                           plane,
                                           out,
                                           {this->weight(call), in_.c, true, 0},
                                           {this->dy(call), plane, false, out_step},
                                           this->dx(call),
                                           plane,
                                           in_step,
                                           1,
                                           0}));
    }
    OCRTUNE_TRY(weight_gradient().run(this->executor_, this->dy(call), this->x(call),
                                      call.parameter_gradients[0], call.scratch));
    if (!linear_.bias) return Status();
    return sum_channels(this->executor_, bias_sums(), PlainTerm<Value>{this->dy(call)},
                        StoreSum{call.parameter_gradients[1]}, call.scratch);
  }

 private:
  WeightGradient weight_gradient() const {
    return {in_.n, linear_.out_channels, in_.c, static_cast<int>(pixels(in_))};
  }
  SumSizes bias_sums() const { return sum_sizes(in_.n, linear_.out_channels, pixels(in_)); }
  Linear linear_;
  Shape in_;
  Activation kind_;
};

}  // namespace ocrtune::device
