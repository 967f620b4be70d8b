// A forward and a backward function for each operation; the loops are in the other headers of this
// folder. All sums are in double and all layouts NCHW. Nothing is saved between passes but norms'
// scales.
#include "core/backends/reference/reference_backend.h"

#include <algorithm>
#include <type_traits>

#include "core/backends/reference/reference_attention.h"
#include "core/backends/reference/reference_branches.h"
#include "core/backends/reference/reference_lstm.h"
#include "core/backends/reference/reference_norm.h"
#include "core/backends/reference/reference_ops.h"

namespace ocrtune {
namespace {

using namespace reference;

struct Shapes {
  std::vector<Shape> inputs;
  Shape in, out;  // the first input

  std::size_t count() const { return Indexer{in}.size(); }
};

ChannelScale* scales(const OperatorCall& call) {
  return reinterpret_cast<ChannelScale*>(call.saved);
}

void run_forward(const Conv& conv, const Shapes& at, const OperatorCall& call) {
  conv_forward({conv, at.in, at.out}, call.inputs[0], call.parameters[0],
               conv.bias ? call.parameters[1] : nullptr, call.output);
  if (!conv.affine) return;
  const std::size_t behind = conv.bias ? 2 : 1;
  const float scale = *call.parameters[behind], shift = *call.parameters[behind + 1];
  const std::size_t count = Indexer{at.out}.size();
  for (std::size_t i = 0; i < count; ++i) call.output[i] = scale * call.output[i] + shift;
}

void run_backward(const Conv& conv, const Shapes& at, const OperatorCall& call) {
  const ConvLoop loop{conv, at.in, at.out};
  if (call.input_gradients[0] != nullptr) {
    conv_backward_input(loop, call.parameters[0], call.output_gradient, call.input_gradients[0]);
  }
  conv_backward_weight(loop, call.inputs[0], call.output_gradient, call.parameter_gradients[0],
                       conv.bias ? call.parameter_gradients[1] : nullptr);
}

void run_forward(const BatchNorm& norm, const Shapes& at, const OperatorCall& call) {
  norm_forward(norm, at.in, call.training, call.inputs[0], call.parameters[0], call.parameters[1],
               call.statistics[0], call.statistics[1], scales(call), call.output);
}

void run_backward(const BatchNorm& norm, const Shapes& at, const OperatorCall& call) {
  norm_backward(norm, at.in, call.inputs[0], call.parameters[0], call.parameters[1], scales(call),
                call.output_gradient, call.input_gradients[0], call.parameter_gradients[0],
                call.parameter_gradients[1]);
}

LstmWeights<float> lstm_weights(const OperatorCall& call) {
  return {call.parameters[0], call.parameters[1], call.parameters[2], call.parameters[3]};
}

void run_forward(const BiLstm& lstm, const Shapes& at, const OperatorCall& call) {
  lstm_forward(at.in, lstm.hidden, call.inputs[0], lstm_weights(call), call.output);
}

void run_backward(const BiLstm& lstm, const Shapes& at, const OperatorCall& call) {
  const auto& g = call.parameter_gradients;
  lstm_backward(at.in, lstm.hidden, call.inputs[0], lstm_weights(call), call.output_gradient,
                call.input_gradients[0], LstmGradients<float>{g[0], g[1], g[2], g[3]});
}

void run_forward(const Linear& linear, const Shapes& at, const OperatorCall& call) {
  linear_forward(at.in, linear.out_channels, call.inputs[0], call.parameters[0],
                 linear.bias ? call.parameters[1] : nullptr, call.output);
}

void run_backward(const Linear& linear, const Shapes& at, const OperatorCall& call) {
  linear_backward(at.in, linear.out_channels, call.inputs[0], call.parameters[0],
                  call.output_gradient, call.input_gradients[0], call.parameter_gradients[0],
                  linear.bias ? call.parameter_gradients[1] : nullptr);
}

void run_forward(const Sum&, const Shapes& at, const OperatorCall& call) {
  for (std::size_t i = 0; i < at.count(); ++i) {
    double sum = 0;
    for (const float* input : call.inputs) sum += input[i];
    call.output[i] = static_cast<float>(sum);
  }
}

void run_backward(const Sum&, const Shapes& at, const OperatorCall& call) {
  for (float* gradient : call.input_gradients) {
    if (gradient != nullptr) std::copy_n(call.output_gradient, at.count(), gradient);
  }
}

void run_forward(const LayerNorm& norm, const Shapes& at, const OperatorCall& call) {
  layer_norm_forward(at.in, norm.epsilon, call.inputs[0], call.parameters[0], call.parameters[1],
                     call.output);
}

void run_backward(const LayerNorm& norm, const Shapes& at, const OperatorCall& call) {
  layer_norm_backward(at.in, norm.epsilon, call.inputs[0], call.parameters[0], call.output_gradient,
                      call.input_gradients[0], call.parameter_gradients[0],
                      call.parameter_gradients[1]);
}

void run_forward(const Attention& attention, const Shapes& at, const OperatorCall& call) {
  attention_forward(at.in, attention.heads, call.inputs[0], call.output);
}

void run_backward(const Attention& attention, const Shapes& at, const OperatorCall& call) {
  if (call.input_gradients[0] == nullptr) return;
  attention_backward(at.in, attention.heads, call.inputs[0], call.output_gradient,
                     call.input_gradients[0]);
}

void run_forward(const Activate& layer, const Shapes& at, const OperatorCall& call) {
  for (std::size_t i = 0; i < at.count(); ++i) {
    call.output[i] = static_cast<float>(activate(layer.activation, double{call.inputs[0][i]}));
  }
}

void run_backward(const Activate& layer, const Shapes& at, const OperatorCall& call) {
  for (std::size_t i = 0; call.input_gradients[0] != nullptr && i < at.count(); ++i) {
    const double slope = activation_slope(layer.activation, double{call.inputs[0][i]});
    call.input_gradients[0][i] = static_cast<float>(slope * call.output_gradient[i]);
  }
}

// copy(input, from there, in the output, count) for each image's part of each input.
template <typename Copy>
void over_parts(const Shapes& at, const Copy& copy) {
  for (int n = 0; n < at.out.n; ++n) {
    int channel = 0;
    for (std::size_t k = 0; k < at.inputs.size(); ++k) {
      const Shape& input = at.inputs[k];
      const std::size_t count = Indexer{{1, input.c, at.out.h, at.out.w}}.size();
      copy(k, Indexer{input}(n, 0, 0, 0), Indexer{at.out}(n, channel, 0, 0), count);
      channel += input.c;
    }
  }
}

void run_forward(const Concat&, const Shapes& at, const OperatorCall& call) {
  over_parts(at, [&](std::size_t k, std::size_t from, std::size_t to, std::size_t count) {
    std::copy_n(call.inputs[k] + from, count, call.output + to);
  });
}

void run_backward(const Concat&, const Shapes& at, const OperatorCall& call) {
  over_parts(at, [&](std::size_t k, std::size_t to, std::size_t from, std::size_t count) {
    if (call.input_gradients[k] == nullptr) return;
    std::copy_n(call.output_gradient + from, count, call.input_gradients[k] + to);
  });
}

void run_forward(const AveragePool& pool, const Shapes& at, const OperatorCall& call) {
  average_pool_forward(at.in, resolve_kernel(pool.kernel, at.in), call.inputs[0], call.output);
}

void run_backward(const AveragePool& pool, const Shapes& at, const OperatorCall& call) {
  if (call.input_gradients[0] == nullptr) return;
  average_pool_backward(at.in, resolve_kernel(pool.kernel, at.in), call.output_gradient,
                        call.input_gradients[0]);
}

void run_forward(const MaxPool& pool, const Shapes& at, const OperatorCall& call) {
  max_pool_forward(at.in, resolve_kernel(pool.kernel, at.in), call.inputs[0], call.output);
}

void run_backward(const MaxPool& pool, const Shapes& at, const OperatorCall& call) {
  if (call.input_gradients[0] == nullptr) return;
  max_pool_backward(at.in, resolve_kernel(pool.kernel, at.in), call.inputs[0], call.output_gradient,
                    call.input_gradients[0]);
}

void run_forward(const Scale&, const Shapes& at, const OperatorCall& call) {
  scale_forward(at.in, call.inputs[0], call.inputs[1], call.output);
}

void run_backward(const Scale&, const Shapes& at, const OperatorCall& call) {
  scale_backward(at.in, call.inputs[0], call.inputs[1], call.output_gradient,
                 call.input_gradients[0], call.input_gradients[1]);
}

void run_forward(const NormSum& norm, const Shapes& at, const OperatorCall& call) {
  norm_sum_forward(NormSumLoop<float>{norm, at.inputs, at.out}, call.training, call.inputs.data(),
                   call.parameters.data(), call.statistics.data(), scales(call), call.output);
}

void run_backward(const NormSum& norm, const Shapes& at, const OperatorCall& call) {
  norm_sum_backward(NormSumLoop<float>{norm, at.inputs, at.out}, call.inputs.data(),
                    call.parameters.data(), scales(call), call.output_gradient,
                    call.input_gradients.data(), call.parameter_gradients.data());
}

void run_forward(const Affine& affine, const Shapes& at, const OperatorCall& call) {
  affine_forward(affine.activation, at.count(), call.inputs[0], call.parameters.data(),
                 call.output);
}

void run_backward(const Affine& affine, const Shapes& at, const OperatorCall& call) {
  affine_backward(affine.activation, at.count(), call.inputs[0], call.parameters.data(),
                  call.output_gradient, call.input_gradients[0], call.parameter_gradients.data());
}

template <typename Kind>
class ReferenceOperator final : public Operator {
 public:
  ReferenceOperator(const Kind& layer, const OperatorRequest& request)
      : layer_(layer), shapes_{{}, request.inputs[0].shape, request.output} {
    for (const ImageDesc& input : request.inputs) shapes_.inputs.push_back(input.shape);
    if constexpr (std::is_same_v<Kind, BatchNorm> || std::is_same_v<Kind, NormSum>) {
      needs_.saved_bytes = all_channels(shapes_.inputs) * sizeof(ChannelScale);
    }
  }
  const OperatorNeeds& needs() const override { return needs_; }
  Status forward(const OperatorCall& call) override {
    run_forward(layer_, shapes_, call);
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    run_backward(layer_, shapes_, call);
    return Status();
  }

 private:
  static constexpr bool kReadsInputs = !std::is_same_v<Kind, Sum> &&
                                       !std::is_same_v<Kind, Concat> &&
                                       !std::is_same_v<Kind, AveragePool>;
  Kind layer_;
  Shapes shapes_;
  OperatorNeeds needs_{Layout{1}, kReadsInputs, false, 0, 0, 0};
};

class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  Layout wanted_layout(const Layer&, std::span<const ImageDesc>, const Shape&, int) const override {
    return Layout{1};
  }
  Result<std::unique_ptr<Operator>> create(const OperatorRequest& request) const override {
    const auto made = [&](const auto& layer) -> std::unique_ptr<Operator> {
      using Kind = std::remove_cvref_t<decltype(layer)>;
      return std::make_unique<ReferenceOperator<Kind>>(layer, request);
    };
    return std::visit(made, request.layer.operation);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace ocrtune
