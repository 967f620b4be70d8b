// Batch norm with its activation and max-pool on the GPU core. The definition is
// core/backends/reference/reference_norm.h's.
#pragma once

#include <cmath>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct NormSizes {
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
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
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
template <typename Executor, typename Value>
Status measure_norm(Executor& executor, const Shape& in, double epsilon, bool training,
                    const Value* x, float* running_mean, float* running_variance, float* saved,
                    std::byte* partial) {
  const std::size_t channels = many(in.c), plane = pixels(in);
  if (!training) {
    return executor.for_each(
        channels, NormRecallEach{channels, epsilon, running_mean, running_variance, saved});
  }
  const double total = static_cast<double>(plane) * in.n;
  return sum_channels(executor, sum_sizes(in.n, in.c, plane), NormMeasureTerm<Value>{x, plane},
                      NormMeasured<Value>{channels, plane, total, epsilon, x, running_mean,
                                          running_variance, saved},
                      partial);
}

// The largest of the pool window of output i: its index in the input, and the normalised value.
template <typename Value>
OCRTUNE_BOTH std::size_t window_best(const NormSizes& plan, std::size_t i, const Value* x,
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
  NormSizes plan;
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
  NormSizes plan;
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

// Without a pool: a row is a channel of a sample, and slopes are not kept but made again.
template <typename Value>
struct NormRow {
  NormSizes plan;
  const Value* x;
  const float *gamma, *beta, *saved;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % many(plan.channels), first = row * plan.plane();
    const float scale = gamma[c] * saved[many(plan.channels) + c];
    const float shift = beta[c] - scale * saved[c];
    map_row(
        lane, plan.plane(), [&](float one) { return activated(plan.kind, scale * one + shift); },
        y + first, x + first);
  }
};

// The slope before the activation: of dy, or as the pool's slopes already are.
struct NormSlope {
  Activation kind;  // none: dy is the slope
  int channels;
  const float *gamma, *beta, *saved;
  OCRTUNE_BOTH float of(std::size_t c, float x, float dy) const {
    if (kind == Activation::none) return dy;
    const float scale = gamma[c] * saved[many(channels) + c];
    return activated_slope(kind, scale * x + (beta[c] - scale * saved[c])) * dy;
  }
};

template <typename Value>
struct NormSlopeTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  NormSlope rule;
  const Value *x, *dy;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
    const float value = x[place.at];
    const float slope = rule.of(place.c, value, dy[place.at]);
    sums[0] += slope;
    sums[1] += slope * (value - rule.saved[place.c]) * rule.saved[many(rule.channels) + place.c];
  }
};

template <typename Value>
struct NormBackRow {  // a row is a channel of a sample
  NormSizes plan;
  NormSlope rule;
  const Value *x, *dy;
  const float *dgamma, *dbeta;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % many(plan.channels), first = row * plan.plane();
    const float mean = rule.saved[c], inverse = rule.saved[many(plan.channels) + c];
    const float scale = rule.gamma[c] * inverse, shift = dbeta[c], slope = dgamma[c];
    const float total = static_cast<float>(plan.plane()) * static_cast<float>(plan.count);
    map_row(
        lane, plan.plane(),
        [&](float one, float out) {
          const float normal = (one - mean) * inverse;
          return scale * (rule.of(c, one, out) - (shift + normal * slope) / total);
        },
        dx + first, x + first, dy + first);
  }
};

template <typename Executor, typename Value>
class DeviceNorm final : public DeviceOperator<Executor, Value> {
 public:
  DeviceNorm(Executor& executor, const BatchNorm& norm, const Shape& in)
      : DeviceOperator<Executor, Value>(executor),
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
    this->needs_.backward_scratch_bytes = align_up(sums().bytes(NormSlopeTerm<Value>::kSums)) +
                                          (pools() ? floats(in) * sizeof(Value) : 0);
  }
  Status forward(const OperatorCall& call) override {
    auto* saved = reinterpret_cast<float*>(call.saved);
    OCRTUNE_TRY(measure_norm(this->executor_, in_, plan_.epsilon, call.training, this->x(call),
                             call.statistics[0], call.statistics[1], saved, call.scratch));
    if (pools()) {
      return this->executor_.for_each(
          outputs(), NormEach<Value>{plan_, this->x(call), call.parameters[0], call.parameters[1],
                                     saved, this->y(call)});
    }
    return this->executor_.rows(planes(), NormRow<Value>{plan_, this->x(call), call.parameters[0],
                                                         call.parameters[1], saved, this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    const float *gamma = call.parameters[0], *beta = call.parameters[1];
    const Value *x = this->x(call), *dy = this->dy(call);
    if (pools()) {
      auto* dz = reinterpret_cast<Value*>(call.scratch +
                                          align_up(sums().bytes(NormSlopeTerm<Value>::kSums)));
      OCRTUNE_TRY(this->executor_.clear(dz, floats(in_) * sizeof(Value)));
      OCRTUNE_TRY(this->executor_.for_each(
          outputs(), NormSlopeEach<Value>{plan_, x, gamma, beta, saved, dy, dz}));
      dy = dz;
    }
    const NormSlope rule{pools() ? Activation::none : plan_.kind, in_.c, gamma, beta, saved};
    float *dgamma = call.parameter_gradients[0], *dbeta = call.parameter_gradients[1];
    OCRTUNE_TRY(sum_channels(this->executor_, sums(), NormSlopeTerm<Value>{rule, x, dy},
                             StoreNormSums{dbeta, dgamma}, call.scratch));
    if (this->dx(call) == nullptr) return Status();
    return this->executor_.rows(
        planes(), NormBackRow<Value>{plan_, rule, x, dy, dgamma, dbeta, this->dx(call)});
  }

 private:
  SumSizes sums() const { return sum_sizes(in_.n, in_.c, pixels(in_)); }
  bool pools() const { return plan_.pool_h != 1 || plan_.pool_w != 1; }
  std::size_t planes() const { return many(in_.n) * many(in_.c); }
  std::size_t outputs() const {
    return many(in_.n) * many(in_.c) * many(plan_.out_h()) * many(plan_.out_w());
  }
  Shape in_;
  NormSizes plan_;
};

}  // namespace ocrtune::device
