// Batch norm with its activation and max-pool on the GPU core. The definition is
// core/reference_norm.h's.
#pragma once

#include <cmath>

#include "core/device_operator.h"

namespace ocrtune::device {

struct NormPlan {
  int count, channels, height, width;  // of the input
  int pool_h, pool_w;
  Activation kind;
  double epsilon;
  OCRTUNE_BOTH std::size_t plane() const { return many(height) * many(width); }
  OCRTUNE_BOTH int out_h() const { return height / pool_h; }
  OCRTUNE_BOTH int out_w() const { return width / pool_w; }
};

inline constexpr double kDeviceNormMomentum = 0.1;

// Sums of x and of its square, both less the channel's first pixel, so that little is lost in the
// difference.
template <typename Value>
struct NormMeasureTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  const Value* x;
  std::size_t plane;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumPlace& place) const {
    const float d = static_cast<float>(x[place.at]) - x[place.c * plane];
    sums[0] += d;
    sums[1] += d * d;
  }
};

// saved[c] = mean, saved[C + c] = 1 / deviation of the batch; the running ones move.
template <typename Value>
struct NormMeasured {
  std::size_t channels, plane;
  double total, epsilon;  // numbers of a channel
  const Value* x;
  float *running_mean, *running_variance, *saved;
  OCRTUNE_BOTH void operator()(std::size_t c, const double* sums) const {
    const double offset = sums[0] / total, mean = x[c * plane] + offset;
    const double spread = sums[1] / total - offset * offset, variance = spread > 0 ? spread : 0;
    saved[c] = static_cast<float>(mean);
    saved[channels + c] = static_cast<float>(1 / sqrt(variance + epsilon));
    const double unbiased = total > 1 ? variance * total / (total - 1) : 0;
    running_mean[c] += static_cast<float>(kDeviceNormMomentum * (mean - running_mean[c]));
    running_variance[c] +=
        static_cast<float>(kDeviceNormMomentum * (unbiased - running_variance[c]));
  }
};

// The same of the running statistics, where nothing is trained.
struct NormRecallEach {
  std::size_t channels;
  double epsilon;
  const float *running_mean, *running_variance;
  float* saved;
  OCRTUNE_BOTH void operator()(std::size_t c) const {
    saved[c] = running_mean[c];
    saved[channels + c] =
        static_cast<float>(1 / sqrt(static_cast<double>(running_variance[c]) + epsilon));
  }
};

// Fills saved [2, C] for one value; `partial` as sum_channels.
template <typename Machine, typename Value>
Status measure_norm(Machine& machine, const Shape& in, double epsilon, bool training,
                    const Value* x, float* running_mean, float* running_variance, float* saved,
                    std::byte* partial) {
  const std::size_t channels = many(in.c), plane = pixels(in);
  if (!training) {
    return machine.each(channels,
                        NormRecallEach{channels, epsilon, running_mean, running_variance, saved});
  }
  const double total = static_cast<double>(plane) * in.n;
  return sum_channels(machine, sum_plan(in.n, in.c, plane), NormMeasureTerm<Value>{x, plane},
                      NormMeasured<Value>{channels, plane, total, epsilon, x, running_mean,
                                          running_variance, saved},
                      partial);
}

// The largest of the pool window of output i: its index in the input, and the normalised value.
template <typename Value>
OCRTUNE_BOTH std::size_t window_best(const NormPlan& plan, std::size_t i, const Value* x,
                                     const float* gamma, const float* beta, const float* saved,
                                     float* value) {
  const std::size_t ow = i % many(plan.out_w()), oh = i / many(plan.out_w()) % many(plan.out_h());
  const std::size_t image = i / many(plan.out_w()) / many(plan.out_h());  // n C + c
  const std::size_t c = image % many(plan.channels);
  const float scale = gamma[c] * saved[many(plan.channels) + c];
  const float shift = beta[c] - scale * saved[c];
  std::size_t best = 0;
  float most = 0;
  bool any = false;
  for (int h = 0; h < plan.pool_h; ++h) {
    for (int w = 0; w < plan.pool_w; ++w) {
      const std::size_t at = image * plan.plane() +
                             (oh * many(plan.pool_h) + many(h)) * many(plan.width) +
                             ow * many(plan.pool_w) + many(w);
      const float z = scale * x[at] + shift;
      if (any && !(z > most)) continue;
      any = true;
      most = z;
      best = at;
    }
  }
  *value = most;
  return best;
}

template <typename Value>
struct NormEach {
  NormPlan plan;
  const Value* x;
  const float *gamma, *beta, *saved;
  Value* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    float value = 0;
    window_best(plan, i, x, gamma, beta, saved, &value);
    y[i] = activated(plan.kind, value);
  }
};

// dz (zero before) gets the slope at each window's largest; windows do not overlap.
template <typename Value>
struct NormSlopeEach {
  NormPlan plan;
  const Value* x;
  const float *gamma, *beta, *saved;
  const Value* dy;
  Value* dz;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    float value = 0;
    const std::size_t best = window_best(plan, i, x, gamma, beta, saved, &value);
    dz[best] = activated_slope(plan.kind, value) * dy[i];
  }
};

template <typename Value>
struct NormSlopeTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  std::size_t channels;
  const Value* x;
  const float* saved;
  const Value* dz;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumPlace& place) const {
    const float slope = dz[place.at];
    sums[0] += slope;
    sums[1] += slope * (x[place.at] - saved[place.c]) * saved[channels + place.c];
  }
};

template <typename Value>
struct NormBackEach {
  NormPlan plan;
  const Value* x;
  const float *gamma, *saved;
  const Value* dz;
  const float *dgamma, *dbeta;
  Value* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t c = i / plan.plane() % many(plan.channels);
    const float inverse = saved[many(plan.channels) + c];
    const float normal = (x[i] - saved[c]) * inverse;
    const float total = static_cast<float>(plan.plane()) * static_cast<float>(plan.count);
    dx[i] = gamma[c] * inverse * (dz[i] - (dbeta[c] + normal * dgamma[c]) / total);
  }
};

template <typename Machine, typename Value>
class DeviceNorm final : public DeviceOperator<Machine, Value> {
 public:
  DeviceNorm(Machine& machine, const BatchNorm& norm, const Shape& in)
      : DeviceOperator<Machine, Value>(machine),
        in_(in),
        plan_{in.n,
              in.c,
              in.h,
              in.w,
              norm.pool.h == 0 ? in.h : norm.pool.h,
              norm.pool.w,
              norm.activation,
              norm.epsilon} {
    this->needs_.saved_bytes = 2 * many(in.c) * sizeof(float);
    this->needs_.forward_scratch_bytes = sums().bytes(NormMeasureTerm<Value>::kSums);
    this->needs_.backward_scratch_bytes =
        align_up(sums().bytes(NormSlopeTerm<Value>::kSums)) + floats(in) * sizeof(Value);
  }
  Status forward(const OperatorCall& call) override {
    auto* saved = reinterpret_cast<float*>(call.saved);
    OCRTUNE_DEVICE_TRY(measure_norm(this->machine_, in_, plan_.epsilon, call.training,
                                    this->x(call), call.statistics[0], call.statistics[1], saved,
                                    call.scratch));
    return this->machine_.each(
        outputs(), NormEach<Value>{plan_, this->x(call), call.parameters[0], call.parameters[1],
                                   saved, this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    auto* dz = reinterpret_cast<Value*>(call.scratch +
                                        align_up(sums().bytes(NormSlopeTerm<Value>::kSums)));
    const Value* x = this->x(call);
    OCRTUNE_DEVICE_TRY(this->machine_.clear(dz, floats(in_) * sizeof(Value)));
    OCRTUNE_DEVICE_TRY(this->machine_.each(
        outputs(), NormSlopeEach<Value>{plan_, x, call.parameters[0], call.parameters[1], saved,
                                        this->dy(call), dz}));
    float *dgamma = call.parameter_gradients[0], *dbeta = call.parameter_gradients[1];
    OCRTUNE_DEVICE_TRY(sum_channels(this->machine_, sums(),
                                    NormSlopeTerm<Value>{many(in_.c), x, saved, dz},
                                    StoreNormSums{dbeta, dgamma}, call.scratch));
    if (this->dx(call) == nullptr) return Status();
    return this->machine_.each(floats(in_), NormBackEach<Value>{plan_, x, call.parameters[0], saved,
                                                                dz, dgamma, dbeta, this->dx(call)});
  }

 private:
  SumPlan sums() const { return sum_plan(in_.n, in_.c, pixels(in_)); }
  std::size_t outputs() const {
    return many(in_.n) * many(in_.c) * many(plan_.out_h()) * many(plan_.out_w());
  }
  Shape in_;
  NormPlan plan_;
};

}  // namespace ocrtune::device
