// Forward centres x, finds S as the weight gradient of square_ and the norms' variances from it;
// then it runs one convolution with the weights of all branches. Backward runs both again.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/gemm.h"
#include "core/backends/onednn/norm_kernels.h"
#include "core/backends/onednn/onednn_conv.h"
#include "core/backends/reference/reference_norm.h"

namespace ocrtune {
namespace {

std::size_t size(int count) { return static_cast<std::size_t>(count); }

double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// A branch is z = W x. With x centred (its mean taken off) and S the sum of x x' over all pixels,
// its row w has the variance w S w' / count; and all gradients follow from the products of dy and
// x. Rows are the channels of the branches, then those of the input itself if it is a summand.
class JoinedBranches final : public Operator {
 public:
  // `one` goes from x to the sum, `square` from x to x and adds.
  JoinedBranches(const NormSum& sum, const OperatorRequest& request, std::unique_ptr<Operator> one,
                 std::unique_ptr<Operator> square)
      : epsilon_(sum.epsilon),
        desc_(request.inputs[0]),
        in_(size(desc_.shape.c)),
        out_(size(sum.channels)),
        rows_(size(std::get<Conv>(request.joined->operation).out_channels)),
        all_rows_(rows_ + (request.layer.inputs.size() > 1 ? out_ : 0)),
        one_(std::move(one)),
        square_(std::move(square)) {
    needs_.output_layout = desc_.layout;
    needs_.backward_reads_inputs = false;
    needs_.saved_bytes =
        (desc_.floats() + (rows_ + out_) * in_ + out_ + 2 * all_rows_) * sizeof(float);
    const OperatorNeeds &first = one_->needs(), &second = square_->needs();
    needs_.forward_scratch_bytes =
        Room::bytes(*this) + std::max(first.forward_scratch_bytes, second.backward_scratch_bytes);
    needs_.backward_scratch_bytes =
        Room::bytes(*this) + std::max(first.backward_scratch_bytes, second.forward_scratch_bytes);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    const Saved saved(*this, call);
    const Room room(*this, call);
    centre(call.inputs[0], room, saved.centred);
    OCRTUNE_TRY(multiply_pixels(room, saved.centred));
    OCRTUNE_TRY(gemm(rows_, in_, in_, {call.parameters[0], in_, false}, {room.square, in_, false},
                     0, saved.seen, in_));
    measure(call, saved, room);
    return one_->forward(call_of_one(call, saved, room));
  }

  Status backward(const OperatorCall& call) override {
    const Saved saved(*this, call);
    const Room room(*this, call);
    OperatorCall inner = call_of_one(call, saved, room);
    const std::array<float*, 2> gradients = {room.products, room.sums};
    inner.output_gradient = call.output_gradient;
    inner.parameter_gradients = gradients;
    inner.input_gradients = call.input_gradients;
    OCRTUNE_TRY(one_->backward(inner));
    find_slopes(call, saved, room);
    if (call.input_gradients[0] != nullptr) OCRTUNE_TRY(add_input_gradient(call, saved, room));
    float* weights = call.parameter_gradients[0];
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < rows_; ++r) {
      const float* products = room.products + r % out_ * in_;
      for (std::size_t i = 0; i < in_; ++i) {
        weights[r * in_ + i] =
            saved.scale[r] * products[i] + room.slopes[r] * saved.seen[r * in_ + i];
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
    float* centred;
    float* seen;             // W S
    float *weights, *shift;  // of the one convolution that the sum is
    float *scale, *inverse;  // of each row: gamma / deviation, 1 / deviation
  };

  // All parts are whole lines: channels are multiples of kNormVector.
  struct Room {
    Room(const JoinedBranches& of, const OperatorCall& call)
        : partial(reinterpret_cast<double*>(call.scratch)),
          products(reinterpret_cast<float*>(partial + of.partial_sums())),
          square(products + of.out_ * of.in_),
          means(square + of.in_ * of.in_),
          sums(means + of.in_),
          slopes(sums + std::max(of.in_, of.out_)),
          rest(call.scratch + bytes(of)) {}
    static std::size_t bytes(const JoinedBranches& of) {
      const std::size_t floats =
          (of.out_ + of.in_ + 1) * of.in_ + std::max(of.in_, of.out_) + of.all_rows_;
      return of.partial_sums() * sizeof(double) + floats * sizeof(float);
    }
    double* partial;  // of x, for each image and channel
    float* products;  // of dy and x, [out, in]
    float* square;    // S, or W' diag(slopes) W, [in, in]
    float* means;     // of x; in backward the shift of dx
    float* sums;      // of dy
    float* slopes;    // k of each row in dz = scale (dy - mean dy) + k (z - mean z)
    std::byte* rest;
  };

  std::size_t partial_sums() const { return size(desc_.shape.n) * in_; }
  double count() const { return static_cast<double>(desc_.pixels()) * desc_.shape.n; }
  // The first parameter or statistic of the input that a row belongs to, and its place in there.
  std::size_t pair(std::size_t row) const { return row < rows_ ? 0 : 2; }
  std::size_t at(std::size_t row) const { return row < rows_ ? row : row - rows_; }

  // Calls visit(start) for each row of pixels of a channel block.
  template <typename Visit>
  void each_row(int n, int cb, const Visit& visit) const {
    const std::size_t floats = size(desc_.shape.w) * size(desc_.layout.block);
    const std::size_t first = (size(n) * size(desc_.blocks()) + size(cb)) * size(desc_.shape.h);
    for (std::size_t h = 0; h < size(desc_.shape.h); ++h) visit((first + h) * floats);
  }

  void centre(const float* x, const Room& room, float* centred) const {
    const int block = desc_.layout.block;
    const RowShape row{size(desc_.shape.w), block};
    const std::size_t plane = desc_.pixels() * size(block);
#pragma omp parallel
    {
      float first[kNormVector], ones[kNormVector];
      std::fill_n(ones, kNormVector, 1.0F);
#pragma omp for collapse(2) schedule(static)
      for (int n = 0; n < desc_.shape.n; ++n) {
        for (int cb = 0; cb < desc_.blocks(); ++cb) {
          LaneTable firsts(first, block);
          for (int c = 0; c < block; ++c) firsts.set(c, x[size(cb) * plane + size(c)]);
          double* total = room.partial + size(n) * in_ + size(cb * block);
          std::fill_n(total, block, 0.0);
          each_row(n, cb, [&](std::size_t start) {
            float sum[kNormVector] = {}, squares[kNormVector] = {};
            norm_measure_row(row, x + start, first, sum, squares);
            for (int lane = 0; lane < kNormVector; ++lane) {
              total[lane % block] += static_cast<double>(sum[lane]);
            }
          });
        }
      }
#pragma omp for schedule(static)
      for (std::size_t c = 0; c < in_; ++c) {
        double sum = 0;
        for (std::size_t n = 0; n < size(desc_.shape.n); ++n) sum += room.partial[n * in_ + c];
        const float of_first = x[c / size(block) * plane + c % size(block)];
        room.means[c] = static_cast<float>(static_cast<double>(of_first) + sum / count());
      }
#pragma omp for collapse(2) schedule(static)
      for (int n = 0; n < desc_.shape.n; ++n) {
        for (int cb = 0; cb < desc_.blocks(); ++cb) {
          LaneTable less(first, block);
          for (int c = 0; c < block; ++c) less.set(c, -room.means[cb * block + c]);
          each_row(n, cb, [&](std::size_t start) {
            norm_apply_row(row, Activation::none, x + start, ones, first, centred + start);
          });
        }
      }
    }
  }

  // S, as the weight gradient of a convolution from the pixels to themselves.
  Status multiply_pixels(const Room& room, const float* centred) const {
    const std::array<float*, 2> gradients = {room.square, room.sums};
    const std::array<float*, 1> nothing = {nullptr};
    OperatorCall inner;
    inner.inputs = {&centred, 1};
    inner.output_gradient = centred;
    inner.parameter_gradients = gradients;
    inner.input_gradients = nothing;
    inner.scratch = room.rest;
    return square_->backward(inner);
  }

  OperatorCall call_of_one(const OperatorCall& call, const Saved& saved, const Room& room) {
    one_inputs_ = {saved.centred};
    one_parameters_ = {saved.weights, saved.shift};
    OperatorCall inner;
    inner.inputs = one_inputs_;
    inner.parameters = one_parameters_;
    inner.output = call.output;
    inner.scratch = room.rest;
    return inner;
  }

  // Scales, running statistics, and the one convolution.
  void measure(const OperatorCall& call, const Saved& saved, const Room& room) const {
#pragma omp parallel for schedule(static)
    for (std::size_t c = 0; c < out_; ++c) {
      float* weights = saved.weights + c * in_;
      std::fill_n(weights, in_, 0.0F);
      saved.shift[c] = 0;
      for (std::size_t r = c; r < all_rows_; r += out_) {
        const bool branch = r < rows_;
        const float* w = call.parameters[0] + (branch ? r * in_ : 0);
        const double mean = branch ? dot(w, room.means, in_) : room.means[c];
        const double squares =
            branch ? dot(w, saved.seen + r * in_, in_) : room.square[c * in_ + c];
        const double variance = std::max(0.0, squares / count());
        const double inverse = 1 / std::sqrt(variance + epsilon_);
        saved.inverse[r] = static_cast<float>(inverse);
        saved.scale[r] = static_cast<float>(call.parameters[1 + pair(r)][at(r)] * inverse);
        saved.shift[c] += call.parameters[2 + pair(r)][at(r)];
        if (branch) {
          for (std::size_t i = 0; i < in_; ++i) weights[i] += saved.scale[r] * w[i];
        } else {
          weights[c] += saved.scale[r];
        }
        reference::move_running(call.statistics[pair(r)][at(r)],
                                call.statistics[pair(r) + 1][at(r)], mean, variance, count());
      }
    }
  }

  // Gradients of scales and shifts, and the slopes.
  void find_slopes(const OperatorCall& call, const Saved& saved, const Room& room) const {
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < all_rows_; ++r) {
      const std::size_t c = r % out_;
      const float* products = room.products + c * in_;
      const double inverse = saved.inverse[r];
      const double product =
          inverse * (r < rows_ ? dot(call.parameters[0] + r * in_, products, in_) : products[c]);
      call.parameter_gradients[1 + pair(r)][at(r)] = static_cast<float>(product);
      call.parameter_gradients[2 + pair(r)][at(r)] = room.sums[c];
      room.slopes[r] = static_cast<float>(-saved.scale[r] * inverse * product / count());
    }
  }

  // dx, which has what the one convolution gives, gets W' diag(slopes) W x less the mean of it all.
  Status add_input_gradient(const OperatorCall& call, const Saved& saved, const Room& room) const {
    const float* weights = call.parameters[0];
    float* scaled = call.parameter_gradients[0];  // until it is written
#pragma omp parallel for schedule(static)
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t i = 0; i < in_; ++i) {
        scaled[r * in_ + i] = room.slopes[r] * weights[r * in_ + i];
      }
    }
    OCRTUNE_TRY(
        gemm(in_, in_, rows_, {scaled, in_, true}, {weights, in_, false}, 0, room.square, in_));
    for (std::size_t r = rows_; r < all_rows_; ++r) {
      room.square[at(r) * in_ + at(r)] += room.slopes[r];
    }
    float* shift = room.means;
    std::fill_n(shift, in_, 0.0F);
    for (std::size_t c = 0; c < out_; ++c) {
      const auto mean = static_cast<float>(room.sums[c] / count());
      for (std::size_t i = 0; i < in_; ++i) shift[i] -= mean * saved.weights[c * in_ + i];
    }
    const float* centred = saved.centred;
    const std::array<const float*, 2> parameters = {room.square, shift};
    OperatorCall inner;
    inner.inputs = {&centred, 1};
    inner.parameters = parameters;
    inner.output = call.input_gradients[0];
    inner.scratch = room.rest;
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
  const int block = preferred_conv_layout(point_conv(sum.channels, true), in, out).block;
  return block == 8 || block == 16;
}

Result<std::unique_ptr<Operator>> make_joined_branches(const NormSum& sum,
                                                       const OperatorRequest& request) {
  const Conv one = point_conv(sum.channels, true);
  const Conv square = point_conv(request.inputs[0].shape.c, true);
  OperatorRequest inner = request;
  auto first = OCRTUNE_TRY(make_onednn_conv(one, inner, {}));
  inner.output = inner.inputs[0].shape;
  inner.wants_input_gradient = false;
  ConvOptions adding;
  adding.adds = true;
  auto second = OCRTUNE_TRY(make_onednn_conv(square, inner, adding));
  const Layout layout = request.inputs[0].layout;
  OCRTUNE_CHECK(first->needs().output_layout == layout && second->needs().output_layout == layout);
  return std::unique_ptr<Operator>(
      std::make_unique<JoinedBranches>(sum, request, std::move(first), std::move(second)));
}

}  // namespace ocrtune
