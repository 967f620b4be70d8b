// One operator class for each operation; the loops are in the other headers of this folder. All
// sums are in double and all layouts NCHW. Nothing is saved between passes but norms' scales.
#include "core/backends/reference/reference_backend.h"

#include <algorithm>

#include "core/backends/reference/reference_attention.h"
#include "core/backends/reference/reference_branches.h"
#include "core/backends/reference/reference_lstm.h"
#include "core/backends/reference/reference_norm.h"
#include "core/backends/reference/reference_ops.h"

namespace ocrtune {
namespace {

using namespace reference;

class ReferenceOperator : public Operator {
 public:
  const OperatorNeeds& needs() const override { return declared; }

 protected:
  OperatorNeeds declared{Layout{1}, true, false, 0, 0, 0};
};

class ConvOperator final : public ReferenceOperator {
 public:
  ConvOperator(const Conv& conv, const Shape& in, const Shape& out) : loop_{conv, in, out} {}

  Status forward(const OperatorCall& call) override {
    conv_forward(loop_, call.inputs[0], call.parameters[0],
                 loop_.conv.bias ? call.parameters[1] : nullptr, call.output);
    if (!loop_.conv.affine) return Status();
    const std::size_t behind = loop_.conv.bias ? 2 : 1;
    const float scale = *call.parameters[behind], shift = *call.parameters[behind + 1];
    const std::size_t count = Indexer{loop_.out}.size();
    for (std::size_t i = 0; i < count; ++i) call.output[i] = scale * call.output[i] + shift;
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      conv_backward_input(loop_, call.parameters[0], call.output_gradient, call.input_gradients[0]);
    }
    conv_backward_weight(loop_, call.inputs[0], call.output_gradient, call.parameter_gradients[0],
                         loop_.conv.bias ? call.parameter_gradients[1] : nullptr);
    return Status();
  }

 private:
  ConvLoop loop_;
};

class NormOperator final : public ReferenceOperator {
 public:
  NormOperator(const BatchNorm& norm, const Shape& in) : norm_(norm), in_(in) {
    declared.saved_bytes = static_cast<std::size_t>(in.c) * sizeof(ChannelScale);
  }

  Status forward(const OperatorCall& call) override {
    norm_forward(norm_, in_, call.training, call.inputs[0], call.parameters[0], call.parameters[1],
                 call.statistics[0], call.statistics[1],
                 reinterpret_cast<ChannelScale*>(call.saved), call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    norm_backward(norm_, in_, call.inputs[0], call.parameters[0], call.parameters[1],
                  reinterpret_cast<const ChannelScale*>(call.saved), call.output_gradient,
                  call.input_gradients[0], call.parameter_gradients[0],
                  call.parameter_gradients[1]);
    return Status();
  }

 private:
  BatchNorm norm_;
  Shape in_;
};

class LstmOperator final : public ReferenceOperator {
 public:
  LstmOperator(const BiLstm& lstm, const Shape& in) : hidden_(lstm.hidden), in_(in) {}

  Status forward(const OperatorCall& call) override {
    lstm_forward(in_, hidden_, call.inputs[0], weights(call), call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    const auto& g = call.parameter_gradients;
    lstm_backward(in_, hidden_, call.inputs[0], weights(call), call.output_gradient,
                  call.input_gradients[0], LstmGradients<float>{g[0], g[1], g[2], g[3]});
    return Status();
  }

 private:
  static LstmWeights<float> weights(const OperatorCall& call) {
    return {call.parameters[0], call.parameters[1], call.parameters[2], call.parameters[3]};
  }
  int hidden_;
  Shape in_;
};

class LinearOperator final : public ReferenceOperator {
 public:
  LinearOperator(const Linear& linear, const Shape& in) : linear_(linear), in_(in) {}

  Status forward(const OperatorCall& call) override {
    linear_forward(in_, linear_.out_channels, call.inputs[0], call.parameters[0],
                   linear_.bias ? call.parameters[1] : nullptr, call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    linear_backward(in_, linear_.out_channels, call.inputs[0], call.parameters[0],
                    call.output_gradient, call.input_gradients[0], call.parameter_gradients[0],
                    linear_.bias ? call.parameter_gradients[1] : nullptr);
    return Status();
  }

 private:
  Linear linear_;
  Shape in_;
};

class SumOperator final : public ReferenceOperator {
 public:
  explicit SumOperator(const Shape& in) : count_(Indexer{in}.size()) {
    declared.backward_reads_inputs = false;
  }

  Status forward(const OperatorCall& call) override {
    for (std::size_t i = 0; i < count_; ++i) {
      double sum = 0;
      for (const float* input : call.inputs) sum += input[i];
      call.output[i] = static_cast<float>(sum);
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    for (float* gradient : call.input_gradients) {
      if (gradient != nullptr) std::copy_n(call.output_gradient, count_, gradient);
    }
    return Status();
  }

 private:
  std::size_t count_;
};

class LayerNormOperator final : public ReferenceOperator {
 public:
  LayerNormOperator(const LayerNorm& norm, const Shape& in) : norm_(norm), in_(in) {}
  Status forward(const OperatorCall& call) override {
    layer_norm_forward(in_, norm_.epsilon, call.inputs[0], call.parameters[0], call.parameters[1],
                       call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    layer_norm_backward(in_, norm_.epsilon, call.inputs[0], call.parameters[0],
                        call.output_gradient, call.input_gradients[0], call.parameter_gradients[0],
                        call.parameter_gradients[1]);
    return Status();
  }

 private:
  LayerNorm norm_;
  Shape in_;
};

class AttentionOperator final : public ReferenceOperator {
 public:
  AttentionOperator(const Attention& attention, const Shape& in)
      : heads_(attention.heads), in_(in) {}
  Status forward(const OperatorCall& call) override {
    attention_forward(in_, heads_, call.inputs[0], call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      attention_backward(in_, heads_, call.inputs[0], call.output_gradient,
                         call.input_gradients[0]);
    }
    return Status();
  }

 private:
  int heads_;
  Shape in_;
};

class ActivateOperator final : public ReferenceOperator {
 public:
  ActivateOperator(const Activate& activate, const Shape& in)
      : activation_(activate.activation), count_(Indexer{in}.size()) {}
  Status forward(const OperatorCall& call) override {
    for (std::size_t i = 0; i < count_; ++i) {
      call.output[i] = static_cast<float>(activate(activation_, double{call.inputs[0][i]}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    for (std::size_t i = 0; call.input_gradients[0] != nullptr && i < count_; ++i) {
      const double slope = activation_slope(activation_, double{call.inputs[0][i]});
      call.input_gradients[0][i] = static_cast<float>(slope * call.output_gradient[i]);
    }
    return Status();
  }

 private:
  Activation activation_;
  std::size_t count_;
};

class ConcatOperator final : public ReferenceOperator {
 public:
  explicit ConcatOperator(const OperatorRequest& request) : out_(request.output) {
    declared.backward_reads_inputs = false;
    for (const ImageDesc& input : request.inputs) inputs_.push_back(input.shape);
  }
  Status forward(const OperatorCall& call) override {
    over_parts([&](std::size_t k, std::size_t from, std::size_t to, std::size_t count) {
      std::copy_n(call.inputs[k] + from, count, call.output + to);
    });
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    over_parts([&](std::size_t k, std::size_t to, std::size_t from, std::size_t count) {
      if (call.input_gradients[k] == nullptr) return;
      std::copy_n(call.output_gradient + from, count, call.input_gradients[k] + to);
    });
    return Status();
  }

 private:
  template <typename Copy>
  void over_parts(const Copy& copy) const {
    for (int n = 0; n < out_.n; ++n) {
      int channel = 0;
      for (std::size_t k = 0; k < inputs_.size(); ++k) {
        const std::size_t count = Indexer{{1, inputs_[k].c, out_.h, out_.w}}.size();
        copy(k, Indexer{inputs_[k]}(n, 0, 0, 0), Indexer{out_}(n, channel, 0, 0), count);
        channel += inputs_[k].c;
      }
    }
  }
  Shape out_;
  std::vector<Shape> inputs_;
};

class AveragePoolOperator final : public ReferenceOperator {
 public:
  AveragePoolOperator(const AveragePool& pool, const Shape& in)
      : in_(in), kernel_(resolve_kernel(pool.kernel, in)) {
    declared.backward_reads_inputs = false;
  }
  Status forward(const OperatorCall& call) override {
    average_pool_forward(in_, kernel_, call.inputs[0], call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      average_pool_backward(in_, kernel_, call.output_gradient, call.input_gradients[0]);
    }
    return Status();
  }

 private:
  Shape in_;
  Extent kernel_;
};

class MaxPoolOperator final : public ReferenceOperator {
 public:
  MaxPoolOperator(const MaxPool& pool, const Shape& in)
      : in_(in), kernel_(resolve_kernel(pool.kernel, in)) {}
  Status forward(const OperatorCall& call) override {
    max_pool_forward(in_, kernel_, call.inputs[0], call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    if (call.input_gradients[0] != nullptr) {
      max_pool_backward(in_, kernel_, call.inputs[0], call.output_gradient,
                        call.input_gradients[0]);
    }
    return Status();
  }

 private:
  Shape in_;
  Extent kernel_;
};

class ScaleOperator final : public ReferenceOperator {
 public:
  explicit ScaleOperator(const Shape& in) : in_(in) {}
  Status forward(const OperatorCall& call) override {
    scale_forward(in_, call.inputs[0], call.inputs[1], call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    scale_backward(in_, call.inputs[0], call.inputs[1], call.output_gradient,
                   call.input_gradients[0], call.input_gradients[1]);
    return Status();
  }

 private:
  Shape in_;
};

class NormSumOperator final : public ReferenceOperator {
 public:
  NormSumOperator(const NormSum& norm, const OperatorRequest& request)
      : loop_{norm, {}, request.output} {
    for (const ImageDesc& input : request.inputs) loop_.inputs.push_back(input.shape);
    declared.saved_bytes = all_channels(loop_.inputs) * sizeof(ChannelScale);
  }
  Status forward(const OperatorCall& call) override {
    norm_sum_forward(loop_, call.training, call.inputs.data(), call.parameters.data(),
                     call.statistics.data(), reinterpret_cast<ChannelScale*>(call.saved),
                     call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    norm_sum_backward(loop_, call.inputs.data(), call.parameters.data(),
                      reinterpret_cast<const ChannelScale*>(call.saved), call.output_gradient,
                      call.input_gradients.data(), call.parameter_gradients.data());
    return Status();
  }

 private:
  NormSumLoop<float> loop_;
};

class AffineOperator final : public ReferenceOperator {
 public:
  AffineOperator(const Affine& affine, const Shape& in)
      : activation_(affine.activation), count_(Indexer{in}.size()) {}
  Status forward(const OperatorCall& call) override {
    affine_forward(activation_, count_, call.inputs[0], call.parameters.data(), call.output);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    affine_backward(activation_, count_, call.inputs[0], call.parameters.data(),
                    call.output_gradient, call.input_gradients[0], call.parameter_gradients.data());
    return Status();
  }

 private:
  Activation activation_;
  std::size_t count_;
};

struct OperatorFactory {
  const OperatorRequest& request;
  const Shape& in;

  std::unique_ptr<Operator> operator()(const Conv& conv) const {
    return std::make_unique<ConvOperator>(conv, in, request.output);
  }
  std::unique_ptr<Operator> operator()(const BatchNorm& norm) const {
    return std::make_unique<NormOperator>(norm, in);
  }
  std::unique_ptr<Operator> operator()(const BiLstm& lstm) const {
    return std::make_unique<LstmOperator>(lstm, in);
  }
  std::unique_ptr<Operator> operator()(const Linear& linear) const {
    return std::make_unique<LinearOperator>(linear, in);
  }
  std::unique_ptr<Operator> operator()(const Sum&) const {
    return std::make_unique<SumOperator>(in);
  }
  std::unique_ptr<Operator> operator()(const LayerNorm& norm) const {
    return std::make_unique<LayerNormOperator>(norm, in);
  }
  std::unique_ptr<Operator> operator()(const Attention& attention) const {
    return std::make_unique<AttentionOperator>(attention, in);
  }
  std::unique_ptr<Operator> operator()(const Activate& activate) const {
    return std::make_unique<ActivateOperator>(activate, in);
  }
  std::unique_ptr<Operator> operator()(const Concat&) const {
    return std::make_unique<ConcatOperator>(request);
  }
  std::unique_ptr<Operator> operator()(const AveragePool& pool) const {
    return std::make_unique<AveragePoolOperator>(pool, in);
  }
  std::unique_ptr<Operator> operator()(const MaxPool& pool) const {
    return std::make_unique<MaxPoolOperator>(pool, in);
  }
  std::unique_ptr<Operator> operator()(const Scale&) const {
    return std::make_unique<ScaleOperator>(in);
  }
  std::unique_ptr<Operator> operator()(const NormSum& norm) const {
    return std::make_unique<NormSumOperator>(norm, request);
  }
  std::unique_ptr<Operator> operator()(const Affine& affine) const {
    return std::make_unique<AffineOperator>(affine, in);
  }
};

class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  Layout wanted_layout(const Layer&, std::span<const ImageDesc>, const Shape&, int) const override {
    return Layout{1};
  }
  Result<std::unique_ptr<Operator>> create(const OperatorRequest& request) const override {
    return std::visit(OperatorFactory{request, request.inputs[0].shape}, request.layer.operation);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace ocrtune
