// Convolutions of the GPU core by the Executor's engine, with bias and activation behind it.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

template <typename Executor, typename Value>
class DeviceConv final : public DeviceOperator<Executor, Value> {
 public:
  DeviceConv(Executor& executor, const ConvSizes& sizes, std::unique_ptr<ConvEngine> engine)
      : DeviceOperator<Executor, Value>(executor), sizes_(sizes), engine_(std::move(engine)) {
    this->needs_.forward_scratch_bytes = engine_->scratch_bytes();
    this->needs_.backward_scratch_bytes = engine_->scratch_bytes();
    if (!sizes.conv.bias) return;
    this->needs_.backward_scratch_bytes =
        std::max(engine_->scratch_bytes(), bias_sums().bytes(PlainTerm<Value>::kSums));
  }
  Status forward(const OperatorCall& call) override {
    OCRTUNE_TRY(engine_->forward(this->x(call), this->weight(call), this->y(call), call.scratch));
    const Activation kind = sizes_.conv.activation;
    if (sizes_.conv.bias) {
      return this->executor_.rows(many(sizes_.out.n) * many(sizes_.out.c),
                                  BiasRow<Value>{call.parameters[1], sizes_.out.c,
                                                 pixels(sizes_.out), kind, this->y(call)});
    }
    if (kind == Activation::none) return Status();
    return spans(this->executor_, floats(sizes_.out),
                 ActivateSpan<Value>{kind, this->y(call), this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) != nullptr) {
      OCRTUNE_TRY(engine_->backward_input(this->weight(call), this->dy(call), this->dx(call),
                                          call.scratch));
    }
    OCRTUNE_TRY(engine_->backward_weight(this->x(call), this->dy(call), call.parameter_gradients[0],
                                         call.scratch));
    if (!sizes_.conv.bias) return Status();
    return sum_channels(this->executor_, bias_sums(), PlainTerm<Value>{this->dy(call)},
                        StoreSum{call.parameter_gradients[1]}, call.scratch);
  }

 private:
  SumSizes bias_sums() const { return sum_sizes(sizes_.out.n, sizes_.out.c, pixels(sizes_.out)); }
  ConvSizes sizes_;
  std::unique_ptr<ConvEngine> engine_;
};

}  // namespace ocrtune::device
