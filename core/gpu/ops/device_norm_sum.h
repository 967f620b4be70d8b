// The sum of several batch norms, and trained scalars around an activation, on the GPU core: the
// branches of a training form. The definitions are core/backends/reference/reference_branches.h's.
#pragma once

#include <vector>

#include "core/gpu/ops/device_norm.h"

namespace ocrtune::device {

inline constexpr int kMaxSummed = 8;

// One branch: channels [0, C) of its start in each sample; all pointers begin at its channel 0.
template <typename Value>
struct SummedBranch {
  const Value* x;
  std::size_t step;  // floats from sample to sample
  const float *gamma, *beta, *mean, *inverse;
};

template <typename Value>
struct NormSumRow {  // a row is a channel of a sample
  int channels, branches;
  std::size_t plane;
  SummedBranch<Value> branch[kMaxSummed];
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % many(channels), n = row / many(channels);
    float scale[kMaxSummed], shift = 0;
    for (int b = 0; b < branches; ++b) {
      scale[b] = branch[b].gamma[c] * branch[b].inverse[c];
      shift += branch[b].beta[c] - scale[b] * branch[b].mean[c];
    }
    std::size_t starts[kMaxSummed];
    bool packs = plane % kPack == 0 && holds_packs(y);
    for (int b = 0; b < branches; ++b) {
      starts[b] = n * branch[b].step + c * plane;
      packs = packs && holds_packs(branch[b].x + starts[b]);
    }
    if (!packs) {
      for (std::size_t p = many(lane.index()); p < plane; p += many(lane.count())) {
        float sum = shift;
        for (int b = 0; b < branches; ++b) sum += scale[b] * branch[b].x[starts[b] + p];
        y[row * plane + p] = sum;
      }
      return;
    }
    for (std::size_t i = many(lane.index()); i < plane / kPack; i += many(lane.count())) {
      float sums[kPack] = {shift, shift, shift, shift};
      for (int b = 0; b < branches; ++b) {
        const auto x = reinterpret_cast<const Pack<Value>*>(branch[b].x + starts[b])[i];
        for (std::size_t k = 0; k < kPack; ++k) sums[k] += scale[b] * x.at[k];
      }
      Pack<Value> out;
      for (std::size_t k = 0; k < kPack; ++k) out.at[k] = sums[k];
      reinterpret_cast<Pack<Value>*>(y + row * plane)[i] = out;
    }
  }
};

// Of one input; dy has `channels` channels, the input a multiple of them.
template <typename Value>
struct NormSumSlopeTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  std::size_t own, channels, plane;
  const Value* x;
  const float* saved;
  const Value* dy;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
    const float slope = dy[(place.n * channels + place.c % channels) * plane + place.p];
    sums[0] += slope;
    sums[1] += slope * (x[place.at] - saved[place.c]) * saved[own + place.c];
  }
};

template <typename Value>
struct NormSumBackRow {  // a row is a channel of a sample of one input
  std::size_t own, channels, plane;
  float total;  // numbers of a channel
  const Value* x;
  const float *gamma, *saved;
  const Value* dy;
  const float *dgamma, *dbeta;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % own, n = row / own;
    const std::size_t slopes = (n * channels + c % channels) * plane;
    const float inverse = saved[own + c], scale = gamma[c] * inverse;
    const float mean = saved[c], shift = dbeta[c], slope = dgamma[c];
    map_row(
        lane, plane,
        [&](float one, float out) {
          const float normal = (one - mean) * inverse;
          return scale * (out - (shift + normal * slope) / total);
        },
        dx + row * plane, x + row * plane, dy + slopes);
  }
};

template <typename Executor, typename Value>
class DeviceNormSum final : public DeviceOperator<Executor, Value> {
 public:
  // unsupported: more branches than one pass takes.
  static Result<std::unique_ptr<Operator>> create(Executor& executor, const NormSum& norm,
                                                  const OperatorRequest& request) {
    std::unique_ptr<DeviceNormSum> made(new DeviceNormSum(executor, norm, request));
    if (made->branches() > kMaxSummed) {
      return Error{ErrorKind::unsupported,
                   "layer " + request.layer.name + ": " + std::to_string(made->branches()) +
                       " branches; the GPU core takes " + std::to_string(kMaxSummed)};
    }
    return std::unique_ptr<Operator>(std::move(made));
  }

  Status forward(const OperatorCall& call) override {
    NormSumRow<Value> row{norm_.channels, 0, plane_, {}, this->y(call)};
    auto* saved = reinterpret_cast<float*>(call.saved);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& in = inputs_[i];
      OCRTUNE_TRY(measure_norm(this->executor_, in, norm_.epsilon, call.training, this->x(call, i),
                               call.statistics[2 * i], call.statistics[2 * i + 1], saved,
                               call.scratch));
      for (int first = 0; first < in.c; first += norm_.channels) {
        row.branch[row.branches++] = {this->x(call, i) + many(first) * plane_,
                                      many(in.c) * plane_,
                                      call.parameters[2 * i] + first,
                                      call.parameters[2 * i + 1] + first,
                                      saved + first,
                                      saved + in.c + first};
      }
      saved += 2 * many(in.c);
    }
    return this->executor_.rows(many(inputs_[0].n) * many(norm_.channels), row);
  }

  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    const std::size_t channels = many(norm_.channels);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& in = inputs_[i];
      float *dgamma = call.parameter_gradients[2 * i], *dbeta = call.parameter_gradients[2 * i + 1];
      OCRTUNE_TRY(sum_channels(this->executor_, sum_sizes(in.n, in.c, plane_),
                               NormSumSlopeTerm<Value>{many(in.c), channels, plane_,
                                                       this->x(call, i), saved, this->dy(call)},
                               StoreNormSums{dbeta, dgamma}, call.scratch));
      if (this->dx(call, i) != nullptr) {
        const auto total = static_cast<float>(plane_) * static_cast<float>(in.n);
        OCRTUNE_TRY(this->executor_.rows(
            many(in.n) * many(in.c),
            NormSumBackRow<Value>{many(in.c), channels, plane_, total, this->x(call, i),
                                  call.parameters[2 * i], saved, this->dy(call), dgamma, dbeta,
                                  this->dx(call, i)}));
      }
      saved += 2 * many(in.c);
    }
    return Status();
  }

 private:
  DeviceNormSum(Executor& executor, const NormSum& norm, const OperatorRequest& request)
      : DeviceOperator<Executor, Value>(executor), norm_(norm), plane_(pixels(request.output)) {
    std::size_t channels = 0, partial = 0;
    for (const ImageDesc& input : request.inputs) {
      const Shape& in = input.shape;
      inputs_.push_back(in);
      channels += many(in.c);
      partial =
          std::max(partial, sum_sizes(in.n, in.c, plane_).bytes(NormSumSlopeTerm<Value>::kSums));
    }
    this->needs_.saved_bytes = 2 * channels * sizeof(float);
    this->needs_.forward_scratch_bytes = this->needs_.backward_scratch_bytes = partial;
  }
  int branches() const {
    int count = 0;
    for (const Shape& in : inputs_) count += in.c / norm_.channels;
    return count;
  }

  NormSum norm_;
  std::vector<Shape> inputs_;
  std::size_t plane_;
};

// --- trained scalars -----------------------------------------------------------------------------

template <typename Value>
struct AffineSpan {
  Activation kind;
  const Value* x;
  const float *s0, *t0, *s1, *t1;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    const float scale = *s0, shift = *t0, scale1 = *s1, shift1 = *t1;
    map_row(
        lane, size,
        [&](float one) { return scale1 * activated(kind, scale * one + shift) + shift1; },
        y + first, x + first);
  }
};

// The slopes of s0, t0, s1, t1.
template <typename Value>
struct AffineTerm {
  static constexpr int kSums = 4;
  using Sum = float;
  Activation kind;
  const Value *x, *dy;
  const float *s0, *t0, *s1;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
    const float inner = *s0 * x[place.at] + *t0, dout = dy[place.at];
    const float slope = *s1 * activated_slope(kind, inner) * dout;
    sums[0] += slope * x[place.at];
    sums[1] += slope;
    sums[2] += activated(kind, inner) * dout;
    sums[3] += dout;
  }
};

struct StoreAffineSums {
  float* to[4];
  OCRTUNE_BOTH void operator()(std::size_t, const double* sums) const {
    for (int k = 0; k < 4; ++k) *to[k] = static_cast<float>(sums[k]);
  }
};

template <typename Value>
struct AffineBackSpan {
  Activation kind;
  const Value *x, *dy;
  const float *s0, *t0, *s1;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    const float scale = *s0, shift = *t0, scale1 = *s1;
    map_row(
        lane, size,
        [&](float one, float slope) {
          return scale * scale1 * activated_slope(kind, scale * one + shift) * slope;
        },
        dx + first, x + first, dy + first);
  }
};

template <typename Executor, typename Value>
class DeviceAffine final : public DeviceOperator<Executor, Value> {
 public:
  DeviceAffine(Executor& executor, const Affine& affine, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), kind_(affine.activation), in_(in) {
    this->needs_.backward_scratch_bytes = sums().bytes(AffineTerm<Value>::kSums);
  }
  Status forward(const OperatorCall& call) override {
    const auto& p = call.parameters;
    return spans(this->executor_, floats(in_),
                 AffineSpan<Value>{kind_, this->x(call), p[0], p[1], p[2], p[3], this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    const auto& p = call.parameters;
    const auto& dp = call.parameter_gradients;
    const Value *x = this->x(call), *dy = this->dy(call);
    OCRTUNE_TRY(sum_channels(this->executor_, sums(),
                             AffineTerm<Value>{kind_, x, dy, p[0], p[1], p[2]},
                             StoreAffineSums{{dp[0], dp[1], dp[2], dp[3]}}, call.scratch));
    if (this->dx(call) == nullptr) return Status();
    return spans(this->executor_, floats(in_),
                 AffineBackSpan<Value>{kind_, x, dy, p[0], p[1], p[2], this->dx(call)});
  }

 private:
  // One channel of many samples: each plane of the input is a sample.
  SumSizes sums() const { return sum_sizes(in_.n * in_.c, 1, pixels(in_)); }
  Activation kind_;
  Shape in_;
};

}  // namespace ocrtune::device
