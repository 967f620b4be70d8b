// Attention of the GPU core. The definition is core/backends/reference/reference_attention.h's.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/gpu/ops/device_operator.h"

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
    most = lane.reduce_max(most);
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

// All heads of so many samples at once as fit a bounded scratch. q, k and v are laid apart first,
// so that every matrix is a step from the one before. Probabilities are kept: [N, heads, T, T].
template <typename Executor, typename Value>
class DeviceAttention final : public DeviceOperator<Executor, Value> {
 public:
  DeviceAttention(Executor& executor, const Attention& attention, const Shape& in)
      : DeviceOperator<Executor, Value>(executor),
        in_(in),
        heads_(attention.heads),
        depth_(in.c / 3 / attention.heads),
        tokens_(static_cast<int>(pixels(in))) {
    const std::size_t each = (many(heads_) * square() + 6 * values()) * sizeof(Value);
    at_once_ =
        static_cast<int>(std::clamp<std::size_t>(executor.max_scratch() / each, 1, many(in.n)));
    this->needs_.saved_bytes = many(in.n) * many(heads_) * square() * sizeof(Value);
    this->needs_.forward_scratch_bytes = parts_bytes();
    this->needs_.backward_scratch_bytes = 2 * parts_bytes() + slopes_bytes();
  }
  Status forward(const OperatorCall& call) override {
    for (int first = 0; first < in_.n; first += at_once_) {
      const int batch = heads_ * std::min(at_once_, in_.n - first);
      auto* parts = reinterpret_cast<Value*>(call.scratch);
      Value* scores = reinterpret_cast<Value*>(call.saved) + scores_before(first);
      OCRTUNE_TRY(lay_apart(this->x(call), first, parts));
      OCRTUNE_TRY(
          this->executor_.product({batch, tokens_, tokens_, depth_, part(parts, 0, true),
                                   part(parts, 1, false), scores, tokens_, square(), scale(), 0}));
      OCRTUNE_TRY(
          this->executor_.rows(many(batch) * many(tokens_), SoftmaxRow<Value>{tokens_, scores}));
      // out[d, i] = sum over j of v[d, j] p[i, j]
      OCRTUNE_TRY(this->executor_.product(
          {batch, depth_, tokens_, tokens_, part(parts, 2, false), scores_at(scores, true),
           this->y(call) + many(first) * values(), tokens_, head_values(), 1, 0}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) == nullptr) return Status();
    for (int first = 0; first < in_.n; first += at_once_) OCRTUNE_TRY(backward_from(call, first));
    return Status();
  }

 private:
  std::size_t square() const { return many(tokens_) * many(tokens_); }
  std::size_t head_values() const { return many(depth_) * many(tokens_); }
  std::size_t values() const { return many(heads_) * head_values(); }  // of q, k or v of a sample
  std::size_t scores_before(int sample) const { return many(sample) * many(heads_) * square(); }
  std::size_t parts_bytes() const {
    return align_up(many(at_once_) * 3 * values() * sizeof(Value));
  }
  std::size_t slopes_bytes() const { return scores_before(at_once_) * sizeof(Value); }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(depth_)); }
  // q (0), k (1) or v (2), laid apart: [depth, tokens] of each head.
  DeviceMatrix part(const Value* parts, int which, bool transposed) const {
    return {parts + many(which) * many(at_once_) * values(), tokens_, transposed, head_values()};
  }
  DeviceMatrix scores_at(const Value* scores, bool transposed) const {
    return {scores, tokens_, transposed, square()};
  }
  // [n, 3, C, T] and [3, n, C, T]
  BlockPlaces together() const { return {1, values(), 0, 0}; }
  BlockPlaces apart() const { return {3, values(), many(at_once_) * values(), 0}; }
  std::size_t blocks_from(int first) const { return 3 * many(std::min(at_once_, in_.n - first)); }
  Status lay_apart(const Value* x, int first, Value* parts) {
    return move_blocks(this->executor_, blocks_from(first), values(),
                       x + many(first) * 3 * values(), together(), parts, apart());
  }

  Status backward_from(const OperatorCall& call, int first) {
    const int batch = heads_ * std::min(at_once_, in_.n - first);
    auto* parts = reinterpret_cast<Value*>(call.scratch);
    auto* slopes_of_parts = reinterpret_cast<Value*>(call.scratch + parts_bytes());
    auto* slopes = reinterpret_cast<Value*>(call.scratch + 2 * parts_bytes());
    const Value* scores = reinterpret_cast<const Value*>(call.saved) + scores_before(first);
    const Value* dy = this->dy(call) + many(first) * values();
    OCRTUNE_TRY(lay_apart(this->x(call), first, parts));
    // dp[i, j] = sum over d of dout[d, i] v[d, j]
    OCRTUNE_TRY(this->executor_.product({batch,
                                         tokens_,
                                         tokens_,
                                         depth_,
                                         {dy, tokens_, true, head_values()},
                                         part(parts, 2, false),
                                         slopes,
                                         tokens_,
                                         square(),
                                         1,
                                         0}));
    OCRTUNE_TRY(this->executor_.rows(many(batch) * many(tokens_),
                                     SoftmaxBackRow<Value>{tokens_, scores, slopes}));
    // dq = k ds^T, dk = q ds, dv = dout p
    const auto back = [&](const DeviceMatrix& a, const DeviceMatrix& b, int which, float factor) {
      return this->executor_.product({batch, depth_, tokens_, tokens_, a, b,
                                      slopes_of_parts + many(which) * many(at_once_) * values(),
                                      tokens_, head_values(), factor, 0});
    };
    OCRTUNE_TRY(back(part(parts, 1, false), scores_at(slopes, true), 0, scale()));
    OCRTUNE_TRY(back(part(parts, 0, false), scores_at(slopes, false), 1, scale()));
    OCRTUNE_TRY(back({dy, tokens_, false, head_values()}, scores_at(scores, false), 2, 1));
    return move_blocks(this->executor_, blocks_from(first), values(),
                       static_cast<const Value*>(slopes_of_parts), apart(),
                       this->dx(call) + many(first) * 3 * values(), together());
  }

  Shape in_;
  int heads_, depth_, tokens_, at_once_ = 1;
};

}  // namespace ocrtune::device
