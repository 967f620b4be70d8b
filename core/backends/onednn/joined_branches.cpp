#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/gemm.h"
#include "core/backends/onednn/norm_kernels.h"
#include "core/backends/onednn/onednn_conv.h"
#include "core/backends/reference/reference_norm.h"

namespace ocrtune {
namespace {

std::size_t size(int count) { return static_cast<std::size_t>(count); }

Conv point_conv(int out_channels) {
  Conv conv;
  conv.out_channels = out_channels;
  conv.kernel = {1, 1};
  conv.pad = {0, 0};
  conv.bias = true;
  return conv;
}

double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Rows are the channels of the branches, then those of the input itself if it is a summand. With
// x centred and S the sum of x x' over all pixels, row w has the variance w S w' / count.
class JoinedBranches final : public Operator {
 public:
  JoinedBranches(const NormSum& sum, const OperatorRequest& request,
                 std::unique_ptr<Operator> forward, std::unique_ptr<Operator> square)
      : epsilon_(sum.epsilon),
        desc_(request.inputs[0]),
        in_(size(desc_.shape.c)),
        out_(size(sum.channels)),
        rows_(size(std::get<Conv>(request.joined->operation).out_channels)),
        all_rows_(rows_ + (request.layer.inputs.size() > 1 ? out_ : 0)),
        one_(std::move(forward)),
        square_(std::move(square)) {
    needs_.output_layout = desc_.layout;
    needs_.backward_reads_inputs = false;
    needs_.saved_bytes =
        (desc_.floats() + (rows_ + out_) * in_ + out_ + 2 * all_rows_) * sizeof(float);
    needs_.forward_scratch_bytes =
        small_bytes() +
        std::max(one_->needs().forward_scratch_bytes, square_->needs().backward_scratch_bytes);
    needs_.backward_scratch_bytes =
        small_bytes() +
        std::max(one_->needs().backward_scratch_bytes, square_->needs().forward_scratch_bytes);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const Saved saved(*this, call);
    float* means = small(call);
    float* products = means + in_;  // S
    centre(call.inputs[0], means, saved.centred);
    OCRTUNE_TRY(multiply_out(call, saved.centred, products, products + in_ * in_));
    OCRTUNE_TRY(gemm(rows_, in_, in_, {call.parameters[0], in_, false}, {products, in_, false}, 0,
                     saved.seen, in_));
    measure(call, saved, means, products);
    return one_->forward(call_of_one(call, saved));
  }

  Status backward(const OperatorCall& call) override {
    const Saved saved(*this, call);
    float* products = small(call);  // of dy and x
    float* sums = products + out_ * in_;
    float* square = sums + out_;
    float* shift = square + in_ * in_;
    OperatorCall inner = call_of_one(call, saved);
    const std::array<float*, 2> gradients = {products, sums};
    inner.output_gradient = call.output_gradient;
    inner.parameter_gradients = gradients;
    inner.input_gradients = call.input_gradients;
    OCRTUNE_TRY(one_->backward(inner));
    const std::vector<float> slopes = find_slopes(call, saved, products, sums);
    if (call.input_gradients[0] != nullptr) {
      OCRTUNE_TRY(add_input_gradient(call, saved, slopes, sums, square, shift));
    }
    const float* scale = saved.scale;
    float* weights = call.parameter_gradients[0];
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t i = 0; i < in_; ++i) {
        weights[r * in_ + i] =
            scale[r] * products[r % out_ * in_ + i] + slopes[r] * saved.seen[r * in_ + i];
      }
    }
    return Status();
  }

 private:
  struct Saved {
    Saved(const JoinedBranches& of, const OperatorCall& call)
        : centred(reinterpret_cast<float*>(call.saved)),
          seen(centred + of.desc_.floats()),
          weights(seen + of.rows_ * of.in_),
          shift(weights + of.out_ * of.in_),
          scale(shift + of.out_),
          inverse(scale + of.all_rows_) {}
    float* centred;          // x less its mean
    float* seen;             // W S
    float *weights, *shift;  // of the one convolution that the sum is
    float *scale, *inverse;  // of each row: gamma / deviation, 1 / deviation
  };

  std::size_t small_bytes() const {
    return (std::max(in_, out_) * in_ + in_ * in_ + 2 * in_ + out_) * sizeof(float);
  }
  float* small(const OperatorCall& call) const { return reinterpret_cast<float*>(call.scratch); }
  std::byte* rest(const OperatorCall& call) const { return call.scratch + small_bytes(); }
  double count() const { return static_cast<double>(desc_.pixels()) * desc_.shape.n; }
  // The index of a row in parameters and statistics of its input.
  std::size_t pair(std::size_t row) const { return row < rows_ ? 0 : 2; }
  std::size_t at(std::size_t row) const { return row < rows_ ? row : row - rows_; }

  void centre(const float* x, float* means, float* centred) const {
    const int block = desc_.layout.block, blocks = desc_.blocks();
    const RowShape row{size(desc_.shape.w), block};
    const std::size_t floats = row.pixels * size(block), height = size(desc_.shape.h);
#pragma omp parallel for schedule(static)
    for (int cb = 0; cb < blocks; ++cb) {
      const auto each_row = [&](auto visit) {
        for (std::size_t n = 0; n < size(desc_.shape.n); ++n) {
          for (std::size_t h = 0; h < height; ++h) {
            visit(((n * size(blocks) + size(cb)) * height + h) * floats);
          }
        }
      };
      float first[kNormVector], ones[kNormVector], less[kNormVector];
      std::array<double, kNormVector> total = {};
      LaneTable table(first, block), offsets(less, block);
      for (int c = 0; c < block; ++c) table.set(c, x[size(cb) * height * floats + size(c)]);
      std::fill_n(ones, kNormVector, 1.0F);
      each_row([&](std::size_t start) {
        float sum[kNormVector] = {}, squares[kNormVector] = {};
        norm_measure_row(row, x + start, first, sum, squares);
        for (std::size_t lane = 0; lane < kNormVector; ++lane) {
          total[lane] += static_cast<double>(sum[lane]);
        }
      });
      for (int c = 0; c < block; ++c) {
        double sum = 0;
        for (int lane = c; lane < kNormVector; lane += block) sum += total[size(lane)];
        const auto mean = static_cast<float>(static_cast<double>(first[c]) + sum / count());
        means[size(cb * block + c)] = mean;
        offsets.set(c, -mean);
      }
      each_row([&](std::size_t start) {
        norm_apply_row(row, Activation::none, x + start, ones, less, centred + start);
      });
    }
  }

  // S, as the weight gradient of a convolution from the pixels to themselves.
  Status multiply_out(const OperatorCall& call, const float* centred, float* products,
                      float* sums) const {
    const std::array<float*, 2> gradients = {products, sums};
    const std::array<float*, 1> nothing = {nullptr};
    OperatorCall inner;
    inner.inputs = {&centred, 1};
    inner.output_gradient = centred;
    inner.parameter_gradients = gradients;
    inner.input_gradients = nothing;
    inner.scratch = rest(call);
    return square_->backward(inner);
  }

  OperatorCall call_of_one(const OperatorCall& call, const Saved& saved) {
    one_inputs_ = {saved.centred};
    one_parameters_ = {saved.weights, saved.shift};
    OperatorCall inner;
    inner.inputs = one_inputs_;
    inner.parameters = one_parameters_;
    inner.output = call.output;
    inner.scratch = rest(call);
    return inner;
  }

  // Scales, running statistics, and the one convolution.
  void measure(const OperatorCall& call, const Saved& saved, const float* means,
               const float* products) const {
    const auto move = [](float& running, double value) {
      running += static_cast<float>(reference::kNormMomentum * (value - running));
    };
#pragma omp parallel for schedule(static)
    for (std::size_t c = 0; c < out_; ++c) {
      float* weights = saved.weights + c * in_;
      std::fill_n(weights, in_, 0.0F);
      saved.shift[c] = 0;
      for (std::size_t r = c; r < all_rows_; r += out_) {
        const bool branch = r < rows_;
        const float* w = call.parameters[0] + r * in_;
        const double mean = branch ? dot(w, means, in_) : means[c];
        const double squares = branch ? dot(w, saved.seen + r * in_, in_) : products[c * in_ + c];
        const double variance = std::max(0.0, squares / count());
        const double inverse = 1 / std::sqrt(variance + epsilon_);
        const double scale = call.parameters[1 + pair(r)][at(r)] * inverse;
        saved.inverse[r] = static_cast<float>(inverse);
        saved.scale[r] = static_cast<float>(scale);
        saved.shift[c] += call.parameters[2 + pair(r)][at(r)];
        if (branch) {
          for (std::size_t i = 0; i < in_; ++i) weights[i] += saved.scale[r] * w[i];
        } else {
          weights[c] += saved.scale[r];
        }
        move(call.statistics[pair(r)][at(r)], mean);
        const double unbiased = count() > 1 ? variance * count() / (count() - 1) : 0;
        move(call.statistics[pair(r) + 1][at(r)], unbiased);
      }
    }
  }

  // Gradients of scales and shifts; gives k of dz = scale (dy - mean dy) + k (z - mean z).
  std::vector<float> find_slopes(const OperatorCall& call, const Saved& saved,
                                 const float* products, const float* sums) const {
    std::vector<float> slopes(all_rows_);
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < all_rows_; ++r) {
      const std::size_t c = r % out_;
      const float* of_row = products + c * in_;
      const double inverse = saved.inverse[r];
      const double product =
          inverse * (r < rows_ ? dot(call.parameters[0] + r * in_, of_row, in_) : of_row[c]);
      call.parameter_gradients[1 + pair(r)][at(r)] = static_cast<float>(product);
      call.parameter_gradients[2 + pair(r)][at(r)] = sums[c];
      slopes[r] = static_cast<float>(-saved.scale[r] * inverse * product / count());
    }
    return slopes;
  }

  // dx, which has what the one convolution gives, gets W' diag(k) W x less the mean of it all.
  Status add_input_gradient(const OperatorCall& call, const Saved& saved,
                            const std::vector<float>& slopes, const float* sums, float* square,
                            float* shift) const {
    const float* weights = call.parameters[0];
    float* scaled = call.parameter_gradients[0];  // until it is written
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t i = 0; i < in_; ++i) scaled[r * in_ + i] = slopes[r] * weights[r * in_ + i];
    }
    OCRTUNE_TRY(gemm(in_, in_, rows_, {scaled, in_, true}, {weights, in_, false}, 0, square, in_));
    for (std::size_t r = rows_; r < all_rows_; ++r) square[at(r) * in_ + at(r)] += slopes[r];
    std::fill_n(shift, in_, 0.0F);
    for (std::size_t c = 0; c < out_; ++c) {
      const auto mean = static_cast<float>(sums[c] / count());
      for (std::size_t i = 0; i < in_; ++i) shift[i] -= mean * saved.weights[c * in_ + i];
    }
    const float* centred = saved.centred;
    const std::array<const float*, 2> parameters = {square, shift};
    OperatorCall inner;
    inner.inputs = {&centred, 1};
    inner.parameters = parameters;
    inner.output = call.input_gradients[0];
    inner.scratch = rest(call);
    return square_->forward(inner);
  }

  double epsilon_;
  ImageDesc desc_;  // of the input
  std::size_t in_, out_, rows_, all_rows_;
  std::unique_ptr<Operator> one_, square_;
  std::array<const float*, 1> one_inputs_ = {};
  std::array<const float*, 2> one_parameters_ = {};
  OperatorNeeds needs_;
};

}  // namespace

bool joins_branches(const Conv& conv, const NormSum& sum, bool adds_input, const Shape& in) {
  const bool points = conv.kernel == Extent{1, 1} && conv.stride == Extent{1, 1} &&
                      conv.pad == Extent{0, 0} && conv.groups == 1 && !conv.bias;
  if (!points || in.c % kNormVector != 0 || sum.channels % kNormVector != 0) return false;
  if (adds_input && in.c != sum.channels) return false;
  // Multiplications, of one product for each branch and pass, and of the passes here.
  const double pixels = static_cast<double>(in.n) * in.h * in.w, c = in.c;
  const double apart = 3 * pixels * conv.out_channels * c;
  const double joined = pixels * c * (3.0 * sum.channels + 2 * c) + 2.0 * conv.out_channels * c * c;
  if (joined > apart) return false;
  const Shape out{in.n, sum.channels, in.h, in.w};
  const int block = preferred_conv_layout(point_conv(sum.channels), in, out).block;
  return block == 8 || block == 16;
}

Result<std::unique_ptr<Operator>> make_joined_branches(const NormSum& sum,
                                                       const OperatorRequest& request) {
  const Conv one = point_conv(sum.channels), square = point_conv(request.inputs[0].shape.c);
  OperatorRequest inner = request;
  auto forward = OCRTUNE_TRY(make_onednn_conv(one, inner, {}));
  inner.output = inner.inputs[0].shape;
  inner.wants_input_gradient = false;
  ConvOptions adding;
  adding.adds = true;
  auto outer = OCRTUNE_TRY(make_onednn_conv(square, inner, adding));
  const Layout layout = request.inputs[0].layout;
  OCRTUNE_CHECK(forward->needs().output_layout == layout && outer->needs().output_layout == layout);
  return std::unique_ptr<Operator>(
      std::make_unique<JoinedBranches>(sum, request, std::move(forward), std::move(outer)));
}

}  // namespace ocrtune
