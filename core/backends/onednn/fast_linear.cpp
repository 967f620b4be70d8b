// Forward and both gradients are one matrix product each. A bias is written into the result first
// and the product adds to it.
#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/gemm.h"
#include "core/backends/onednn/rows.h"

namespace ocrtune {
namespace {

class FastLinear final : public Operator {
 public:
  FastLinear(const Linear& linear, const Shape& in)
      : bias_(linear.bias),
        rows_(static_cast<std::size_t>(in.n) * ImageDesc{in, Layout{1}}.pixels()),
        in_(static_cast<std::size_t>(in.c)),
        out_(static_cast<std::size_t>(linear.out_channels)) {
    needs_.output_layout = Layout{linear.out_channels};
    needs_.backward_scratch_bytes = linear.bias ? column_sum_scratch_bytes(out_) : 0;
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    if (bias_) fill_rows(call.parameters[1], rows_, out_, call.output);
    return gemm(rows_, out_, in_, {call.inputs[0], in_, false}, {call.parameters[0], in_, true},
                bias_ ? 1.0F : 0.0F, call.output, out_);
  }

  Status backward(const OperatorCall& call) override {
    if (bias_) {
      sum_columns(call.output_gradient, rows_, out_, out_, call.scratch,
                  call.parameter_gradients[1]);
    }
    const Status weight =
        gemm(out_, in_, rows_, {call.output_gradient, out_, true}, {call.inputs[0], in_, false},
             0.0F, call.parameter_gradients[0], in_);
    if (!weight || call.input_gradients[0] == nullptr) return weight;
    return gemm(rows_, in_, out_, {call.output_gradient, out_, false},
                {call.parameters[0], in_, false}, 0.0F, call.input_gradients[0], in_);
  }

 private:
  bool bias_;
  std::size_t rows_, in_, out_;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_linear(const Linear& linear, const Shape& in) {
  return std::make_unique<FastLinear>(linear, in);
}

}  // namespace ocrtune
