// Layer norm of the GPU core: over the channels of each pixel.
#pragma once

#include <cmath>

#include "core/device_operator.h"

namespace ocrtune::device {

// --- layer norm: an element is a pixel, so that neighbours read neighbours -------------------

struct LayerNormPlan {
  int channels;
  std::size_t plane;
  double epsilon;
};

template <typename Value>
struct LayerNormEach {
  LayerNormPlan plan;
  const Value* x;
  const float *gamma, *beta;
  Value* y;
  float* saved;  // saved[2 i] mean, saved[2 i + 1] 1 / deviation
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = i / plan.plane * plan.plane * many(plan.channels) + i % plan.plane;
    double sum = 0, squares = 0;
    for (int c = 0; c < plan.channels; ++c) sum += x[first + many(c) * plan.plane];
    const double mean = sum / plan.channels;
    for (int c = 0; c < plan.channels; ++c) {
      const double d = x[first + many(c) * plan.plane] - mean;
      squares += d * d;
    }
    const double inverse = 1 / sqrt(squares / plan.channels + plan.epsilon);
    saved[2 * i] = static_cast<float>(mean);
    saved[2 * i + 1] = static_cast<float>(inverse);
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      y[at] = static_cast<float>((x[at] - mean) * inverse) * gamma[c] + beta[c];
    }
  }
};

template <typename Value>
struct LayerNormBackEach {
  LayerNormPlan plan;
  const Value* x;
  const float *gamma, *saved;
  const Value* dy;
  Value* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = i / plan.plane * plan.plane * many(plan.channels) + i % plan.plane;
    const float mean = saved[2 * i], inverse = saved[2 * i + 1];
    double sum = 0, product = 0;
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      const float slope = dy[at] * gamma[c];
      sum += slope;
      product += static_cast<double>(slope) * (x[at] - mean) * inverse;
    }
    const auto a = static_cast<float>(sum / plan.channels);
    const auto b = static_cast<float>(product / plan.channels);
    for (int c = 0; c < plan.channels; ++c) {
      const std::size_t at = first + many(c) * plan.plane;
      dx[at] = inverse * (dy[at] * gamma[c] - a - (x[at] - mean) * inverse * b);
    }
  }
};

template <typename Value>
struct LayerNormTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  LayerNormPlan plan;
  const Value* x;
  const float* saved;
  const Value* dy;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumPlace& place) const {
    const std::size_t pixel = place.n * plan.plane + place.p;
    const float slope = dy[place.at];
    sums[0] += slope;
    sums[1] += slope * (x[place.at] - saved[2 * pixel]) * saved[2 * pixel + 1];
  }
};

template <typename Machine, typename Value>
class DeviceLayerNorm final : public DeviceOperator<Machine, Value> {
 public:
  DeviceLayerNorm(Machine& machine, const LayerNorm& norm, const Shape& in)
      : DeviceOperator<Machine, Value>(machine), in_(in), plan_{in.c, pixels(in), norm.epsilon} {
    this->needs_.saved_bytes = 2 * places() * sizeof(float);
    this->needs_.backward_scratch_bytes = sums().bytes(LayerNormTerm<Value>::kSums);
  }
  Status forward(const OperatorCall& call) override {
    return this->machine_.each(
        places(), LayerNormEach<Value>{plan_, this->x(call), call.parameters[0], call.parameters[1],
                                       this->y(call), reinterpret_cast<float*>(call.saved)});
  }
  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    if (this->dx(call) != nullptr) {
      OCRTUNE_DEVICE_TRY(this->machine_.each(
          places(), LayerNormBackEach<Value>{plan_, this->x(call), call.parameters[0], saved,
                                             this->dy(call), this->dx(call)}));
    }
    return sum_channels(
        this->machine_, sums(), LayerNormTerm<Value>{plan_, this->x(call), saved, this->dy(call)},
        StoreNormSums{call.parameter_gradients[1], call.parameter_gradients[0]}, call.scratch);
  }

 private:
  SumPlan sums() const { return sum_plan(in_.n, in_.c, pixels(in_)); }
  std::size_t places() const { return many(in_.n) * pixels(in_); }
  Shape in_;
  LayerNormPlan plan_;
};

}  // namespace ocrtune::device
