// Pools of the GPU core: means and maxima over windows with stride = kernel.
#pragma once

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct PoolSizes {
  int height, width, kernel_h, kernel_w;  // of the input
  OCRTUNE_BOTH int out_h() const { return height / kernel_h; }
  OCRTUNE_BOTH int out_w() const { return width / kernel_w; }
  // The first pixel of output i's window.
  OCRTUNE_BOTH std::size_t first(std::size_t i) const {
    const std::size_t ow = i % many(out_w()), oh = i / many(out_w()) % many(out_h());
    const std::size_t image = i / many(out_w()) / many(out_h());
    return (image * many(height) + oh * many(kernel_h)) * many(width) + ow * many(kernel_w);
  }
};

template <typename Value>
struct AverageEach {
  PoolSizes plan;
  const Value* x;
  Value* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = plan.first(i);
    double sum = 0;
    for (int h = 0; h < plan.kernel_h; ++h) {
      for (int w = 0; w < plan.kernel_w; ++w)
        sum += x[first + many(h) * many(plan.width) + many(w)];
    }
    y[i] = static_cast<float>(sum / (plan.kernel_h * plan.kernel_w));
  }
};

template <typename Value>
struct AverageBackEach {  // dx is zero before: windows may leave a margin out
  PoolSizes plan;
  const Value* dy;
  Value* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = plan.first(i);
    const float share = dy[i] / static_cast<float>(plan.kernel_h * plan.kernel_w);
    for (int h = 0; h < plan.kernel_h; ++h) {
      for (int w = 0; w < plan.kernel_w; ++w)
        dx[first + many(h) * many(plan.width) + many(w)] = share;
    }
  }
};

template <typename Value>
OCRTUNE_BOTH std::size_t largest_of_window(const PoolSizes& plan, std::size_t i, const Value* x) {
  const std::size_t first = plan.first(i);
  std::size_t best = first;
  for (int h = 0; h < plan.kernel_h; ++h) {
    for (int w = 0; w < plan.kernel_w; ++w) {
      const std::size_t at = first + many(h) * many(plan.width) + many(w);
      if (x[at] > x[best]) best = at;
    }
  }
  return best;
}

template <typename Value>
struct MaxEach {
  PoolSizes plan;
  const Value* x;
  Value* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const { y[i] = x[largest_of_window(plan, i, x)]; }
};

template <typename Value>
struct MaxBackEach {  // dx is zero before
  PoolSizes plan;
  const Value *x, *dy;
  Value* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const { dx[largest_of_window(plan, i, x)] = dy[i]; }
};

template <typename Executor, typename Value>
class DevicePool final : public DeviceOperator<Executor, Value> {
 public:
  DevicePool(Executor& executor, const Extent& kernel, bool average, const Shape& in)
      : DeviceOperator<Executor, Value>(executor),
        in_(in),
        average_(average),
        plan_{in.h, in.w, kernel.h == 0 ? in.h : kernel.h, kernel.w == 0 ? in.w : kernel.w} {
    this->needs_.backward_reads_inputs = !average;
  }
  Status forward(const OperatorCall& call) override {
    if (average_) {
      return this->executor_.for_each(outputs(),
                                      AverageEach<Value>{plan_, this->x(call), this->y(call)});
    }
    return this->executor_.for_each(outputs(), MaxEach<Value>{plan_, this->x(call), this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    Value* dx = this->dx(call);
    if (dx == nullptr) return Status();
    OCRTUNE_TRY(this->executor_.clear(dx, floats(in_) * sizeof(Value)));
    if (average_) {
      return this->executor_.for_each(outputs(), AverageBackEach<Value>{plan_, this->dy(call), dx});
    }
    return this->executor_.for_each(outputs(),
                                    MaxBackEach<Value>{plan_, this->x(call), this->dy(call), dx});
  }

 private:
  std::size_t outputs() const {
    return many(in_.n) * many(in_.c) * many(plan_.out_h()) * many(plan_.out_w());
  }
  Shape in_;
  bool average_;
  PoolSizes plan_;
};

}  // namespace ocrtune::device
