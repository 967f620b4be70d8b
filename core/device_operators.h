// The operators of the GPU core, over [N, C, H, W] throughout, so that no layout is ever converted
// between them: a linear layer and attention's products are batched products over the samples.
//
// Templates over a Machine, which runs kernels, products and convolutions: core/cuda_machine.h on a
// GPU, loops on the host in tests, where they are compared with the reference backend. A Machine
// has
//   each(count, work), rows(count, work)   run core/device_rows.h's kinds
//   product(DeviceProduct)                 a batched matrix product
//   clear(start, bytes)                    sets zeros
//   make_conv(ConvSizes)                   an engine for one convolution
// all of which only enqueue.
#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/device_rows.h"
#include "core/device_sums.h"

namespace ocrtune {

struct ConvSizes {
  Conv conv;
  Shape in, out;
  bool training = true;
};

// One convolution without its bias; `scratch` holds at least scratch_bytes().
class ConvEngine {
 public:
  virtual ~ConvEngine() = default;
  virtual std::size_t scratch_bytes() const = 0;
  virtual Status forward(const float* x, const float* w, float* y, std::byte* scratch) = 0;
  virtual Status backward_input(const float* w, const float* dy, float* dx, std::byte* scratch) = 0;
  virtual Status backward_weight(const float* x, const float* dy, float* dw,
                                 std::byte* scratch) = 0;
};

namespace device {

inline std::size_t pixels(const Shape& shape) { return many(shape.h) * many(shape.w); }
inline std::size_t floats(const Shape& shape) {
  return many(shape.n) * many(shape.c) * pixels(shape);
}

// --- element kinds that belong to one operator ------------------------------------------------

struct ConcatEach {                 // i counts one part
  std::size_t part, whole, offset;  // floats of a sample: of the part, of the whole, before it
  const float* from;
  float* to;
  bool back;  // from the whole to the part
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t at = i / part * whole + offset + i % part;
    if (back) {
      to[i] = from[at];
    } else {
      to[at] = from[i];
    }
  }
};

struct PoolPlan {
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

struct AverageEach {
  PoolPlan plan;
  const float* x;
  float* y;
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

struct AverageBackEach {  // dx is zero before: windows may leave a margin out
  PoolPlan plan;
  const float* dy;
  float* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    const std::size_t first = plan.first(i);
    const float share = dy[i] / static_cast<float>(plan.kernel_h * plan.kernel_w);
    for (int h = 0; h < plan.kernel_h; ++h) {
      for (int w = 0; w < plan.kernel_w; ++w)
        dx[first + many(h) * many(plan.width) + many(w)] = share;
    }
  }
};

OCRTUNE_BOTH inline std::size_t largest_of_window(const PoolPlan& plan, std::size_t i,
                                                  const float* x) {
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

struct MaxEach {
  PoolPlan plan;
  const float* x;
  float* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const { y[i] = x[largest_of_window(plan, i, x)]; }
};

struct MaxBackEach {  // dx is zero before
  PoolPlan plan;
  const float *x, *dy;
  float* dx;
  OCRTUNE_BOTH void operator()(std::size_t i) const { dx[largest_of_window(plan, i, x)] = dy[i]; }
};

struct ScaleEach {
  std::size_t plane;
  const float *x, *factors;
  float* y;
  OCRTUNE_BOTH void operator()(std::size_t i) const { y[i] = x[i] * factors[i / plane]; }
};

struct ScaleSumRow {  // a row is a channel of a sample
  std::size_t plane;
  const float *x, *dy;
  float* dfactors;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    double sum = 0;
    for (std::size_t p = many(lane.index()); p < plane; p += many(lane.count())) {
      sum += static_cast<double>(x[row * plane + p]) * dy[row * plane + p];
    }
    sum = lane.sum(sum);
    if (lane.index() == 0) dfactors[row] = static_cast<float>(sum);
  }
};

struct FoldEach {  // parts [count, size]
  std::size_t count, size;
  const float* parts;
  float* to;
  OCRTUNE_BOTH void operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t part = 0; part < count; ++part) sum += parts[part * size + i];
    to[i] = static_cast<float>(sum);
  }
};

// --- operators ----------------------------------------------------------------------------------

template <typename Machine>
class DeviceOperator : public Operator {
 public:
  explicit DeviceOperator(Machine& machine) : machine_(machine) {}
  const OperatorNeeds& needs() const override { return needs_; }

 protected:
  // NOLINTBEGIN(readability-identifier-naming): the underscore of private members, for heirs
  Machine& machine_;
  OperatorNeeds needs_{Layout{1}, true, false, 0, 0, 0};
  // NOLINTEND(readability-identifier-naming)
};

template <typename Machine>
class DeviceConv final : public DeviceOperator<Machine> {
 public:
  DeviceConv(Machine& machine, const ConvSizes& sizes, std::unique_ptr<ConvEngine> engine)
      : DeviceOperator<Machine>(machine), sizes_(sizes), engine_(std::move(engine)) {
    this->needs_.forward_scratch_bytes = engine_->scratch_bytes();
    this->needs_.backward_scratch_bytes = engine_->scratch_bytes();
    if (!sizes.conv.bias) return;
    this->needs_.backward_scratch_bytes =
        std::max(engine_->scratch_bytes(), bias_sums().bytes(PlainTerm::kSums));
  }
  Status forward(const OperatorCall& call) override {
    OCRTUNE_DEVICE_TRY(
        engine_->forward(call.inputs[0], call.parameters[0], call.output, call.scratch));
    const Activation kind = sizes_.conv.activation;
    if (sizes_.conv.bias) {
      return this->machine_.each(
          floats(sizes_.out),
          BiasEach{call.parameters[1], sizes_.out.c, pixels(sizes_.out), kind, call.output});
    }
    if (kind == Activation::none) return Status();
    return this->machine_.each(floats(sizes_.out), ActivateEach{kind, call.output, call.output});
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      OCRTUNE_DEVICE_TRY(engine_->backward_input(call.parameters[0], call.output_gradient,
                                                 call.input_gradients[0], call.scratch));
    }
    OCRTUNE_DEVICE_TRY(engine_->backward_weight(call.inputs[0], call.output_gradient,
                                                call.parameter_gradients[0], call.scratch));
    if (!sizes_.conv.bias) return Status();
    return sum_channels(this->machine_, bias_sums(), PlainTerm{call.output_gradient},
                        StoreSum{call.parameter_gradients[1]}, call.scratch);
  }

 private:
  SumPlan bias_sums() const { return sum_plan(sizes_.out.n, sizes_.out.c, pixels(sizes_.out)); }
  ConvSizes sizes_;
  std::unique_ptr<ConvEngine> engine_;
};

// dW [rows, columns] = the sum over samples of dY[n] X[n]^T, where both are [.., plane]: so many
// sums side by side as fit a bounded scratch, then their sum.
struct WeightGradient {
  int count, rows, columns, plane;
  int groups() const {
    constexpr std::size_t kMostFloats = std::size_t{4} << 20;
    int most = static_cast<int>(std::min<std::size_t>(
        many(count), std::max<std::size_t>(1, kMostFloats / (many(rows) * many(columns)))));
    while (count % most != 0) --most;
    return most;
  }
  std::size_t scratch_bytes() const {
    return groups() == 1 ? 0 : many(groups()) * many(rows) * many(columns) * sizeof(float);
  }
  template <typename Machine>
  Status run(Machine& machine, const float* dy, const float* x, float* dw,
             std::byte* scratch) const {
    const std::size_t y_step = many(rows) * many(plane), x_step = many(columns) * many(plane);
    const std::size_t weights = many(rows) * many(columns);
    const int parts = groups(), each = count / parts;
    float* to = parts == 1 ? dw : reinterpret_cast<float*>(scratch);
    for (int n = 0; n < each; ++n) {
      OCRTUNE_DEVICE_TRY(
          machine.product({parts,
                           rows,
                           columns,
                           plane,
                           {dy + many(n) * y_step, plane, false, many(each) * y_step},
                           {x + many(n) * x_step, plane, true, many(each) * x_step},
                           to,
                           columns,
                           weights,
                           1,
                           n == 0 ? 0.0F : 1.0F}));
    }
    if (parts == 1) return Status();
    return machine.each(weights, FoldEach{many(parts), weights, to, dw});
  }
};

// y[n] = W x[n] at all pixels at once: x[n] is a matrix [C, pixels].
template <typename Machine>
class DeviceLinear final : public DeviceOperator<Machine> {
 public:
  DeviceLinear(Machine& machine, const Linear& linear, const Shape& in)
      : DeviceOperator<Machine>(machine), linear_(linear), in_(in) {
    this->needs_.backward_scratch_bytes =
        std::max(weight_gradient().scratch_bytes(), bias_sums().bytes(PlainTerm::kSums));
  }
  Status forward(const OperatorCall& call) override {
    const int out = linear_.out_channels, plane = static_cast<int>(pixels(in_));
    const DeviceProduct product{in_.n,
                                out,
                                plane,
                                in_.c,
                                {call.parameters[0], in_.c, false, 0},
                                {call.inputs[0], plane, false, many(in_.c) * pixels(in_)},
                                call.output,
                                plane,
                                many(out) * pixels(in_),
                                1,
                                0};
    OCRTUNE_DEVICE_TRY(this->machine_.product(product));
    if (!linear_.bias) return Status();
    return this->machine_.each(
        many(in_.n) * many(out) * pixels(in_),
        BiasEach{call.parameters[1], out, pixels(in_), Activation::none, call.output});
  }
  Status backward(const OperatorCall& call) override {
    const int out = linear_.out_channels, plane = static_cast<int>(pixels(in_));
    const std::size_t in_step = many(in_.c) * pixels(in_), out_step = many(out) * pixels(in_);
    if (call.input_gradients[0] != nullptr) {
      OCRTUNE_DEVICE_TRY(this->machine_.product({in_.n,
                                                 in_.c,
                                                 plane,
                                                 out,
                                                 {call.parameters[0], in_.c, true, 0},
                                                 {call.output_gradient, plane, false, out_step},
                                                 call.input_gradients[0],
                                                 plane,
                                                 in_step,
                                                 1,
                                                 0}));
    }
    OCRTUNE_DEVICE_TRY(weight_gradient().run(this->machine_, call.output_gradient, call.inputs[0],
                                             call.parameter_gradients[0], call.scratch));
    if (!linear_.bias) return Status();
    return sum_channels(this->machine_, bias_sums(), PlainTerm{call.output_gradient},
                        StoreSum{call.parameter_gradients[1]}, call.scratch);
  }

 private:
  WeightGradient weight_gradient() const {
    return {in_.n, linear_.out_channels, in_.c, static_cast<int>(pixels(in_))};
  }
  SumPlan bias_sums() const { return sum_plan(in_.n, linear_.out_channels, pixels(in_)); }
  Linear linear_;
  Shape in_;
};

template <typename Machine>
class DeviceSum final : public DeviceOperator<Machine> {
 public:
  DeviceSum(Machine& machine, const Shape& in) : DeviceOperator<Machine>(machine), in_(in) {
    this->needs_.backward_reads_inputs = false;
  }
  Status forward(const OperatorCall& call) override {
    OCRTUNE_DEVICE_TRY(this->machine_.each(floats(in_), CopyEach{call.inputs[0], call.output}));
    for (std::size_t k = 1; k < call.inputs.size(); ++k) {
      OCRTUNE_DEVICE_TRY(this->machine_.each(floats(in_), AddEach{call.output, call.inputs[k]}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    for (float* gradient : call.input_gradients) {
      if (gradient == nullptr) continue;
      OCRTUNE_DEVICE_TRY(
          this->machine_.each(floats(in_), CopyEach{call.output_gradient, gradient}));
    }
    return Status();
  }

 private:
  Shape in_;
};

template <typename Machine>
class DeviceLayerNorm final : public DeviceOperator<Machine> {
 public:
  DeviceLayerNorm(Machine& machine, const LayerNorm& norm, const Shape& in)
      : DeviceOperator<Machine>(machine), in_(in), plan_{in.c, pixels(in), norm.epsilon} {
    this->needs_.saved_bytes = 2 * places() * sizeof(float);
    this->needs_.backward_scratch_bytes = sums().bytes(LayerNormTerm::kSums);
  }
  Status forward(const OperatorCall& call) override {
    return this->machine_.each(
        places(), LayerNormEach{plan_, call.inputs[0], call.parameters[0], call.parameters[1],
                                call.output, reinterpret_cast<float*>(call.saved)});
  }
  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    if (call.input_gradients[0] != nullptr) {
      OCRTUNE_DEVICE_TRY(this->machine_.each(
          places(), LayerNormBackEach{plan_, call.inputs[0], call.parameters[0], saved,
                                      call.output_gradient, call.input_gradients[0]}));
    }
    return sum_channels(
        this->machine_, sums(), LayerNormTerm{plan_, call.inputs[0], saved, call.output_gradient},
        StoreNormSums{call.parameter_gradients[1], call.parameter_gradients[0]}, call.scratch);
  }

 private:
  SumPlan sums() const { return sum_plan(in_.n, in_.c, pixels(in_)); }
  std::size_t places() const { return many(in_.n) * pixels(in_); }
  Shape in_;
  LayerNormPlan plan_;
};

// Heads one after another, all samples of a head at once. Probabilities are kept: [heads, N, T, T].
template <typename Machine>
class DeviceAttention final : public DeviceOperator<Machine> {
 public:
  DeviceAttention(Machine& machine, const Attention& attention, const Shape& in)
      : DeviceOperator<Machine>(machine),
        in_(in),
        heads_(attention.heads),
        depth_(in.c / 3 / attention.heads),
        tokens_(static_cast<int>(pixels(in))) {
    this->needs_.saved_bytes = many(heads_) * head_floats() * sizeof(float);
    this->needs_.backward_scratch_bytes = head_floats() * sizeof(float);
  }
  Status forward(const OperatorCall& call) override {
    const float* x = call.inputs[0];
    auto* scores = reinterpret_cast<float*>(call.saved);
    for (int head = 0; head < heads_; ++head) {
      float* mine = scores + many(head) * head_floats();
      OCRTUNE_DEVICE_TRY(
          this->machine_.product({in_.n, tokens_, tokens_, depth_, part(x, 0, head, true),
                                  part(x, 1, head, false), mine, tokens_, square(), scale(), 0}));
      OCRTUNE_DEVICE_TRY(
          this->machine_.rows(many(in_.n) * many(tokens_), SoftmaxRow{tokens_, mine}));
      // out[d, i] = sum over j of v[d, j] p[i, j]
      OCRTUNE_DEVICE_TRY(this->machine_.product({in_.n,
                                                 depth_,
                                                 tokens_,
                                                 tokens_,
                                                 part(x, 2, head, false),
                                                 {mine, tokens_, true, square()},
                                                 call.output + out_offset(head),
                                                 tokens_,
                                                 out_step(),
                                                 1,
                                                 0}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] == nullptr) return Status();
    const float* x = call.inputs[0];
    float* dx = call.input_gradients[0];
    auto* slopes = reinterpret_cast<float*>(call.scratch);
    const auto* scores = reinterpret_cast<const float*>(call.saved);
    for (int head = 0; head < heads_; ++head) {
      const float* p = scores + many(head) * head_floats();
      const float* dy = call.output_gradient + out_offset(head);
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
      OCRTUNE_DEVICE_TRY(
          this->machine_.rows(many(in_.n) * many(tokens_), SoftmaxBackRow{tokens_, p, slopes}));
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
  DeviceMatrix part(const float* x, int which, int head, bool transposed) const {
    return {x + offset(which, head), tokens_, transposed, in_step()};
  }
  Status back(const DeviceMatrix& a, const DeviceMatrix& b, float* dx, int which, int head,
              float factor) {
    return this->machine_.product({in_.n, depth_, tokens_, tokens_, a, b, dx + offset(which, head),
                                   tokens_, in_step(), factor, 0});
  }

  Shape in_;
  int heads_, depth_, tokens_;
};

template <typename Machine>
class DeviceActivate final : public DeviceOperator<Machine> {
 public:
  DeviceActivate(Machine& machine, const Activate& activate, const Shape& in)
      : DeviceOperator<Machine>(machine), kind_(activate.activation), in_(in) {}
  Status forward(const OperatorCall& call) override {
    return this->machine_.each(floats(in_), ActivateEach{kind_, call.inputs[0], call.output});
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] == nullptr) return Status();
    return this->machine_.each(
        floats(in_),
        ActivateBackEach{kind_, call.inputs[0], call.output_gradient, call.input_gradients[0]});
  }

 private:
  Activation kind_;
  Shape in_;
};

template <typename Machine>
class DeviceConcat final : public DeviceOperator<Machine> {
 public:
  DeviceConcat(Machine& machine, const OperatorRequest& request)
      : DeviceOperator<Machine>(machine), out_(request.output) {
    this->needs_.backward_reads_inputs = false;
    for (const ImageDesc& input : request.inputs) inputs_.push_back(input.shape);
  }
  Status forward(const OperatorCall& call) override {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      OCRTUNE_DEVICE_TRY(this->machine_.each(
          floats(inputs_[k]),
          ConcatEach{part(k), whole(), offset, call.inputs[k], call.output, false}));
      offset += part(k);
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (call.input_gradients[k] != nullptr) {
        OCRTUNE_DEVICE_TRY(this->machine_.each(
            floats(inputs_[k]), ConcatEach{part(k), whole(), offset, call.output_gradient,
                                           call.input_gradients[k], true}));
      }
      offset += part(k);
    }
    return Status();
  }

 private:
  std::size_t part(std::size_t k) const { return many(inputs_[k].c) * pixels(out_); }
  std::size_t whole() const { return many(out_.c) * pixels(out_); }
  Shape out_;
  std::vector<Shape> inputs_;
};

template <typename Machine>
class DevicePool final : public DeviceOperator<Machine> {
 public:
  DevicePool(Machine& machine, const Extent& kernel, bool average, const Shape& in)
      : DeviceOperator<Machine>(machine),
        in_(in),
        average_(average),
        plan_{in.h, in.w, kernel.h == 0 ? in.h : kernel.h, kernel.w == 0 ? in.w : kernel.w} {
    this->needs_.backward_reads_inputs = !average;
  }
  Status forward(const OperatorCall& call) override {
    if (average_) {
      return this->machine_.each(outputs(), AverageEach{plan_, call.inputs[0], call.output});
    }
    return this->machine_.each(outputs(), MaxEach{plan_, call.inputs[0], call.output});
  }
  Status backward(const OperatorCall& call) override {
    float* dx = call.input_gradients[0];
    if (dx == nullptr) return Status();
    OCRTUNE_DEVICE_TRY(this->machine_.clear(dx, floats(in_) * sizeof(float)));
    if (average_) {
      return this->machine_.each(outputs(), AverageBackEach{plan_, call.output_gradient, dx});
    }
    return this->machine_.each(outputs(),
                               MaxBackEach{plan_, call.inputs[0], call.output_gradient, dx});
  }

 private:
  std::size_t outputs() const {
    return many(in_.n) * many(in_.c) * many(plan_.out_h()) * many(plan_.out_w());
  }
  Shape in_;
  bool average_;
  PoolPlan plan_;
};

template <typename Machine>
class DeviceScale final : public DeviceOperator<Machine> {
 public:
  DeviceScale(Machine& machine, const Shape& in) : DeviceOperator<Machine>(machine), in_(in) {}
  Status forward(const OperatorCall& call) override {
    return this->machine_.each(floats(in_),
                               ScaleEach{pixels(in_), call.inputs[0], call.inputs[1], call.output});
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      OCRTUNE_DEVICE_TRY(this->machine_.each(
          floats(in_),
          ScaleEach{pixels(in_), call.output_gradient, call.inputs[1], call.input_gradients[0]}));
    }
    if (call.input_gradients[1] == nullptr) return Status();
    return this->machine_.rows(
        many(in_.n) * many(in_.c),
        ScaleSumRow{pixels(in_), call.inputs[0], call.output_gradient, call.input_gradients[1]});
  }

 private:
  Shape in_;
};

}  // namespace device
}  // namespace ocrtune
