// Attention of the GPU core. The definition is core/reference_attention.h's.
#pragma once

#include <cmath>

#include "core/device_operator.h"

namespace ocrtune::device {

// --- softmax of attention: a row is a row of scores ------------------------------------------

template <typename Value>
struct SoftmaxRow {
  int columns;
  Value* scores;  // in place
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    Value* at = scores + row * many(columns);
    float most = -3.0e38F;
    for (int k = lane.index(); k < columns; k += lane.count()) most = at[k] > most ? at[k] : most;
    most = lane.most(most);
    double sum = 0;
    for (int k = lane.index(); k < columns; k += lane.count()) sum += expf(at[k] - most);
    const auto share = static_cast<float>(1 / lane.sum(sum));
    for (int k = lane.index(); k < columns; k += lane.count()) at[k] = expf(at[k] - most) * share;
  }
};

// d(scores), in place of d(probabilities).
template <typename Value>
struct SoftmaxBackRow {
  int columns;
  const Value* probabilities;
  Value* slopes;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const Value* p = probabilities + row * many(columns);
    Value* d = slopes + row * many(columns);
    double sum = 0;
    for (int k = lane.index(); k < columns; k += lane.count()) {
      sum += static_cast<double>(p[k]) * d[k];
    }
    const auto mean = static_cast<float>(lane.sum(sum));
    for (int k = lane.index(); k < columns; k += lane.count()) d[k] = p[k] * (d[k] - mean);
  }
};

// Heads one after another, all samples of a head at once. Probabilities are kept: [heads, N, T, T].
template <typename Machine, typename Value>
class DeviceAttention final : public DeviceOperator<Machine, Value> {
 public:
  DeviceAttention(Machine& machine, const Attention& attention, const Shape& in)
      : DeviceOperator<Machine, Value>(machine),
        in_(in),
        heads_(attention.heads),
        depth_(in.c / 3 / attention.heads),
        tokens_(static_cast<int>(pixels(in))) {
    this->needs_.saved_bytes = many(heads_) * head_floats() * sizeof(Value);
    this->needs_.backward_scratch_bytes = head_floats() * sizeof(Value);
  }
  Status forward(const OperatorCall& call) override {
    const Value* x = this->x(call);
    auto* scores = reinterpret_cast<Value*>(call.saved);
    for (int head = 0; head < heads_; ++head) {
      Value* mine = scores + many(head) * head_floats();
      OCRTUNE_DEVICE_TRY(
          this->machine_.product({in_.n, tokens_, tokens_, depth_, part(x, 0, head, true),
                                  part(x, 1, head, false), mine, tokens_, square(), scale(), 0}));
      OCRTUNE_DEVICE_TRY(
          this->machine_.rows(many(in_.n) * many(tokens_), SoftmaxRow<Value>{tokens_, mine}));
      // out[d, i] = sum over j of v[d, j] p[i, j]
      OCRTUNE_DEVICE_TRY(this->machine_.product({in_.n,
                                                 depth_,
                                                 tokens_,
                                                 tokens_,
                                                 part(x, 2, head, false),
                                                 {mine, tokens_, true, square()},
                                                 this->y(call) + out_offset(head),
                                                 tokens_,
                                                 out_step(),
                                                 1,
                                                 0}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) == nullptr) return Status();
    const Value* x = this->x(call);
    Value* dx = this->dx(call);
    auto* slopes = reinterpret_cast<Value*>(call.scratch);
    const auto* scores = reinterpret_cast<const Value*>(call.saved);
    for (int head = 0; head < heads_; ++head) {
      const Value* p = scores + many(head) * head_floats();
      const Value* dy = this->dy(call) + out_offset(head);
      // dp[i, j] = sum over d of dout[d, i] v[d, j]
      OCRTUNE_DEVICE_TRY(this->machine_.product({in_.n,
                                                 tokens_,
                                                 tokens_,
                                                 depth_,
                                                 {dy, tokens_, true, out_step()},
                                                 part(x, 2, head, false),
                                                 slopes,
                                                 tokens_,
                                                 square(),
                                                 1,
                                                 0}));
      OCRTUNE_DEVICE_TRY(this->machine_.rows(many(in_.n) * many(tokens_),
                                             SoftmaxBackRow<Value>{tokens_, p, slopes}));
      const DeviceMatrix ds{slopes, tokens_, false, square()};
      const DeviceMatrix ds_across{slopes, tokens_, true, square()};
      // dq = k ds^T, dk = q ds, dv = dout p
      OCRTUNE_DEVICE_TRY(back(part(x, 1, head, false), ds_across, dx, 0, head, scale()));
      OCRTUNE_DEVICE_TRY(back(part(x, 0, head, false), ds, dx, 1, head, scale()));
      OCRTUNE_DEVICE_TRY(
          back({dy, tokens_, false, out_step()}, {p, tokens_, false, square()}, dx, 2, head, 1));
    }
    return Status();
  }

 private:
  std::size_t square() const { return many(tokens_) * many(tokens_); }
  std::size_t head_floats() const { return many(in_.n) * square(); }
  std::size_t in_step() const { return many(in_.c) * many(tokens_); }
  std::size_t out_step() const { return many(in_.c / 3) * many(tokens_); }
  std::size_t out_offset(int head) const { return many(head * depth_) * many(tokens_); }
  std::size_t offset(int which, int head) const {
    return many(which * (in_.c / 3) + head * depth_) * many(tokens_);
  }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(depth_)); }
  // q (0), k (1) or v (2) of a head: [depth, tokens] of each sample.
  DeviceMatrix part(const Value* x, int which, int head, bool transposed) const {
    return {x + offset(which, head), tokens_, transposed, in_step()};
  }
  Status back(const DeviceMatrix& a, const DeviceMatrix& b, Value* dx, int which, int head,
              float factor) {
    return this->machine_.product({in_.n, depth_, tokens_, tokens_, a, b, dx + offset(which, head),
                                   tokens_, in_step(), factor, 0});
  }

  Shape in_;
  int heads_, depth_, tokens_;
};

}  // namespace ocrtune::device
