#include "core/reference_backend.h"

#include <algorithm>
#include <cstring>

#include "core/reference_lstm.h"
#include "core/reference_norm.h"
#include "core/reference_ops.h"

namespace ocrtune {
namespace {

using namespace reference;

class ReferenceOperator : public Operator {
 public:
  const OperatorNeeds& needs() const override { return needs_; }

 protected:
  OperatorNeeds needs_{Layout{1}, true, false, 0, 0, 0};
};

class ConvOperator final : public ReferenceOperator {
 public:
  ConvOperator(const Conv& conv, const Shape& in, const Shape& out) : loop_{conv, in, out} {}

  Status forward(const OperatorCall& call) override {
    conv_forward(loop_, call.inputs[0], call.parameters[0],
                 loop_.conv.bias ? call.parameters[1] : nullptr, call.output);
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
    needs_.saved_bytes = static_cast<std::size_t>(in.c) * sizeof(ChannelScale);
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
    needs_.backward_reads_inputs = false;
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
};

class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  Layout wanted_layout(const Layer&, const ImageDesc&, const Shape&, int) const override {
    return Layout{1};
  }
  Result<std::unique_ptr<Operator>> create(const OperatorRequest& request) const override {
    return std::visit(OperatorFactory{request, request.inputs[0].shape}, request.layer.operation);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace ocrtune
