// forward_head() and backward_head() hold the steps of one head of one sample. Matrices are padded
// to 16 columns, for which small_gemm() is fast, or turned, as it takes no transposed B.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/gemm.h"
#include "core/simd/simd.h"
#include "core/simd/vector_math.h"

namespace ocrtune {
namespace {

constexpr std::size_t kRows = 48;  // query rows whose weights are in cache together
constexpr std::size_t kLanes = 16;

std::size_t round_up(std::size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// In place: exp(factor (x - max)); gives log(sum exp(factor x)) and the sum of what is written.
OCRTUNE_SIMD void exponentiate(float* __restrict row, std::size_t count, float factor,
                               float& log_sum, float& sum) {
  float most = row[0];
#pragma omp simd reduction(max : most)
  for (std::size_t j = 0; j < count; ++j) most = row[j] > most ? row[j] : most;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::size_t j = 0; j < count; ++j) {
    const float value = fast_exp(factor * (row[j] - most));
    row[j] = value;
    total += value;
  }
  sum = total;
  log_sum = factor * most + std::log(total);
}

// weights = exp(factor scores - log_sum), slopes = weights (slopes - mean) factor
OCRTUNE_SIMD void slopes_of_row(float* __restrict weights, float* __restrict slopes,
                                std::size_t count, float factor, float log_sum, float mean) {
  for (std::size_t j = 0; j < count; ++j) {
    const float weight = fast_exp(factor * weights[j] - log_sum);
    weights[j] = weight;
    slopes[j] = weight * (slopes[j] - mean) * factor;
  }
}

OCRTUNE_SIMD float dot(const float* __restrict a, const float* __restrict b, std::size_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < count; ++j) sum += a[j] * b[j];
  return sum;
}

OCRTUNE_SIMD void write_scaled(const float* __restrict from, float factor, std::size_t count,
                               float* __restrict to) {
  for (std::size_t j = 0; j < count; ++j) to[j] = from[j] * factor;
}

class FastAttention final : public Operator {
 public:
  FastAttention(const Attention& attention, const Shape& in)
      : heads_(static_cast<std::size_t>(attention.heads)),
        samples_(static_cast<std::size_t>(in.n)),
        channels_(static_cast<std::size_t>(in.c) / 3),
        tokens_(ImageDesc{in, Layout{1}}.pixels()),
        size_(channels_ / heads_),
        wide_size_(round_up(size_)),
        wide_tokens_(round_up(tokens_)),
        factor_(1 / std::sqrt(static_cast<float>(size_))) {
    const auto team = static_cast<std::size_t>(omp_get_max_threads());
    needs_.output_layout = Layout{in.c / 3};
    needs_.backward_reads_output = true;
    // One number a row is kept, the logarithm of its sum: backward makes the weights again from it.
    needs_.saved_bytes = samples_ * heads_ * tokens_ * sizeof(float);
    // k turned, v; scores; results
    forward_floats_ =
        size_ * wide_tokens_ + tokens_ * wide_size_ + kRows * wide_tokens_ + kRows * wide_size_;
    // k and v turned, k, q, dy; scores, slopes; dq, dk, dv
    backward_floats_ = 2 * size_ * wide_tokens_ + 3 * tokens_ * wide_size_ +
                       2 * kRows * wide_tokens_ + (kRows + 2 * tokens_) * wide_size_;
    needs_.forward_scratch_bytes = team * round_up(forward_floats_) * sizeof(float);
    needs_.backward_scratch_bytes = team * round_up(backward_floats_) * sizeof(float);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (std::size_t n = 0; n < samples_; ++n) {
      for (std::size_t head = 0; head < heads_; ++head) forward_head(call, n, head);
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] == nullptr) return Status();
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (std::size_t n = 0; n < samples_; ++n) {
      for (std::size_t head = 0; head < heads_; ++head) backward_head(call, n, head);
    }
    return Status();
  }

 private:
  // Start of part 0 (q), 1 (k) or 2 (v) of a head in rows of 3C floats.
  std::size_t part_at(std::size_t n, std::size_t head, std::size_t part) const {
    return n * tokens_ * 3 * channels_ + part * channels_ + head * size_;
  }
  std::size_t output_at(std::size_t n, std::size_t head) const {
    return n * tokens_ * channels_ + head * size_;
  }
  float* log_sums(const OperatorCall& call, std::size_t n, std::size_t head) const {
    return reinterpret_cast<float*>(call.saved) + (n * heads_ + head) * tokens_;
  }
  static float* thread_room(const OperatorCall& call, std::size_t floats) {
    return reinterpret_cast<float*>(call.scratch) +
           static_cast<std::size_t>(omp_get_thread_num()) * round_up(floats);
  }
  // [T, size] from rows `stride` apart -> [T, wide_size], the rest 0.
  void widen(const float* from, std::size_t stride, float* to) const {
    for (std::size_t t = 0; t < tokens_; ++t) {
      std::memcpy(to + t * wide_size_, from + t * stride, size_ * sizeof(float));
      std::fill_n(to + t * wide_size_ + size_, wide_size_ - size_, 0.0F);
    }
  }
  // The same -> [size, wide_tokens], the rest 0.
  void turn(const float* from, std::size_t stride, float* to) const {
    for (std::size_t d = 0; d < size_; ++d) {
      float* row = to + d * wide_tokens_;
      for (std::size_t t = 0; t < tokens_; ++t) row[t] = from[t * stride + d];
      std::fill_n(row + tokens_, wide_tokens_ - tokens_, 0.0F);
    }
  }

  void forward_head(const OperatorCall& call, std::size_t n, std::size_t head) const {
    const std::size_t stride = 3 * channels_;
    float* keys = thread_room(call, forward_floats_);
    float* values = keys + size_ * wide_tokens_;
    float* scores = values + tokens_ * wide_size_;
    float* results = scores + kRows * wide_tokens_;
    turn(call.inputs[0] + part_at(n, head, 1), stride, keys);
    widen(call.inputs[0] + part_at(n, head, 2), stride, values);
    const float* queries = call.inputs[0] + part_at(n, head, 0);
    float* output = call.output + output_at(n, head);
    for (std::size_t first = 0; first < tokens_; first += kRows) {
      const std::size_t rows = std::min(kRows, tokens_ - first);
      small_gemm(rows, wide_tokens_, size_, {queries + first * stride, stride, false}, keys,
                 wide_tokens_, false, scores, wide_tokens_);
      float sums[kRows];
      for (std::size_t i = 0; i < rows; ++i) {
        exponentiate(scores + i * wide_tokens_, tokens_, factor_,
                     log_sums(call, n, head)[first + i], sums[i]);
      }
      small_gemm(rows, wide_size_, tokens_, {scores, wide_tokens_, false}, values, wide_size_,
                 false, results, wide_size_);
      for (std::size_t i = 0; i < rows; ++i) {
        write_scaled(results + i * wide_size_, 1.0F / sums[i], size_,
                     output + (first + i) * channels_);
      }
    }
  }

  void backward_head(const OperatorCall& call, std::size_t n, std::size_t head) const {
    const std::size_t stride = 3 * channels_;
    const float* in = call.inputs[0];
    float* keys_turned = thread_room(call, backward_floats_);
    float* values_turned = keys_turned + size_ * wide_tokens_;
    float* keys = values_turned + size_ * wide_tokens_;
    float* queries = keys + tokens_ * wide_size_;
    float* dy = queries + tokens_ * wide_size_;
    float* weights = dy + tokens_ * wide_size_;
    float* slopes = weights + kRows * wide_tokens_;
    float* dqueries = slopes + kRows * wide_tokens_;
    float* dkeys = dqueries + kRows * wide_size_;
    float* dvalues = dkeys + tokens_ * wide_size_;
    turn(in + part_at(n, head, 1), stride, keys_turned);
    turn(in + part_at(n, head, 2), stride, values_turned);
    widen(in + part_at(n, head, 1), stride, keys);
    widen(in + part_at(n, head, 0), stride, queries);
    widen(call.output_gradient + output_at(n, head), channels_, dy);
    const float* output = call.output + output_at(n, head);
    float* out = call.input_gradients[0];
    for (std::size_t first = 0; first < tokens_; first += kRows) {
      const std::size_t rows = std::min(kRows, tokens_ - first);
      small_gemm(rows, wide_tokens_, size_, {queries + first * wide_size_, wide_size_, false},
                 keys_turned, wide_tokens_, false, weights, wide_tokens_);
      small_gemm(rows, wide_tokens_, size_, {dy + first * wide_size_, wide_size_, false},
                 values_turned, wide_tokens_, false, slopes, wide_tokens_);
      for (std::size_t i = 0; i < rows; ++i) {
        // The sum of w_j (dy . v_j) over j is dy . y, as y is the sum of w_j v_j.
        const float mean =
            dot(dy + (first + i) * wide_size_, output + (first + i) * channels_, size_);
        slopes_of_row(weights + i * wide_tokens_, slopes + i * wide_tokens_, tokens_, factor_,
                      log_sums(call, n, head)[first + i], mean);
      }
      small_gemm(rows, wide_size_, tokens_, {slopes, wide_tokens_, false}, keys, wide_size_, false,
                 dqueries, wide_size_);
      small_gemm(tokens_, wide_size_, rows, {slopes, wide_tokens_, true},
                 queries + first * wide_size_, wide_size_, first > 0, dkeys, wide_size_);
      small_gemm(tokens_, wide_size_, rows, {weights, wide_tokens_, true}, dy + first * wide_size_,
                 wide_size_, first > 0, dvalues, wide_size_);
      store(dqueries, rows, out + part_at(n, head, 0) + first * stride);
    }
    store(dkeys, tokens_, out + part_at(n, head, 1));
    store(dvalues, tokens_, out + part_at(n, head, 2));
  }

  // Rows of wide_size floats into rows of 3C floats.
  void store(const float* from, std::size_t rows, float* to) const {
    for (std::size_t i = 0; i < rows; ++i) {
      std::memcpy(to + i * 3 * channels_, from + i * wide_size_, size_ * sizeof(float));
    }
  }

  std::size_t heads_, samples_, channels_, tokens_, size_, wide_size_, wide_tokens_;
  float factor_;
  std::size_t forward_floats_ = 0, backward_floats_ = 0;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_attention(const Attention& attention, const Shape& in) {
  return std::make_unique<FastAttention>(attention, in);
}

}  // namespace ocrtune
