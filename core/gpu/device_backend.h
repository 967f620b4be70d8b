// The GPU core's operators behind the Backend seam (core/graph/backend.h), for any Executor: all
// pointers of a call are the Executor's.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>

#include "core/gpu/ops/device_attention.h"
#include "core/gpu/ops/device_conv.h"
#include "core/gpu/ops/device_depthwise.h"
#include "core/gpu/ops/device_layer_norm.h"
#include "core/gpu/ops/device_linear.h"
#include "core/gpu/ops/device_lstm.h"
#include "core/gpu/ops/device_norm_sum.h"
#include "core/gpu/ops/device_operators.h"
#include "core/gpu/ops/device_pool.h"
#include "core/gpu/ops/device_unfold.h"

namespace ocrtune::device {

template <typename Executor, typename Value>
class DeviceBackend final : public Backend {
 public:
  explicit DeviceBackend(Executor& executor) : executor_(executor) {}
  const char* name() const override { return "cuda"; }
  std::size_t value_bytes() const override { return sizeof(Value); }
  Layout wanted_layout(const Layer&, std::span<const ImageDesc>, const Shape&, int) const override {
    return Layout{1};
  }
  Result<std::unique_ptr<Operator>> create(const OperatorRequest& request) const override {
    return std::visit(Factory{executor_, request}, request.layer.operation);
  }

 private:
  using Made = Result<std::unique_ptr<Operator>>;

  struct Factory {
    Executor& executor;
    const OperatorRequest& request;

    // Then [out, in] times [in, pixels] of each sample, and no library is needed.
    static bool is_pointwise(const Conv& conv) {
      return conv.kernel == Extent{} && conv.stride == Extent{} && conv.pad == Extent{0, 0} &&
             conv.groups == 1;
    }
    const Shape& in() const { return request.inputs[0].shape; }
    template <typename Made_, typename... Arguments>
    Made make(const Arguments&... arguments) const {
      return std::unique_ptr<Operator>(std::make_unique<Made_>(executor, arguments...));
    }
    // The library's, or products where it has none.
    Result<std::unique_ptr<ConvEngine>> engine_of(const ConvSizes& sizes) const {
      auto engine = executor.make_conv(sizes);
      if (engine || engine.error().kind != ErrorKind::unsupported) return engine;
      return std::unique_ptr<ConvEngine>(
          std::make_unique<UnfoldConv<Executor, Value>>(executor, sizes));
    }
    Made operator()(const Conv& conv) const {
      if (is_device_depthwise(conv, in())) {
        return make<DeviceDepthwise<Executor, Value>>(conv, in(), request.output);
      }
      if (conv.branches > 1 && conv.groups > 1) {
        return Error{ErrorKind::unsupported,
                     "layer " + request.layer.name +
                         ": the GPU core takes branches of grouped convolutions where they are "
                         "depthwise, 1, 3, 5 or 7 wide"};
      }
      const ConvSizes sizes{conv, in(), request.output, request.training, kElementOf<Value>};
      if (!std::is_same_v<Value, float> && is_pointwise(conv)) {
        return std::unique_ptr<Operator>(std::make_unique<DeviceLinear<Executor, Value>>(
            executor, Linear{conv.out_channels, conv.bias}, in(), conv.activation));
      }
      auto engine = OCRTUNE_TRY(engine_of(sizes));
      return std::unique_ptr<Operator>(
          std::make_unique<DeviceConv<Executor, Value>>(executor, sizes, std::move(engine)));
    }
    Made operator()(const BatchNorm& norm) const {
      return make<DeviceNorm<Executor, Value>>(norm, in());
    }
    Made operator()(const BiLstm& lstm) const {
      return make<DeviceLstm<Executor, Value>>(lstm, in());
    }
    Made operator()(const Linear& linear) const {
      return make<DeviceLinear<Executor, Value>>(linear, in());
    }
    Made operator()(const Sum&) const { return make<DeviceSum<Executor, Value>>(in()); }
    Made operator()(const LayerNorm& norm) const {
      return make<DeviceLayerNorm<Executor, Value>>(norm, in());
    }
    Made operator()(const Attention& attention) const {
      return make<DeviceAttention<Executor, Value>>(attention, in());
    }
    Made operator()(const Activate& activate) const {
      return make<DeviceActivate<Executor, Value>>(activate, in());
    }
    Made operator()(const Concat&) const { return make<DeviceConcat<Executor, Value>>(request); }
    Made operator()(const AveragePool& pool) const {
      return make<DevicePool<Executor, Value>>(pool.kernel, true, in());
    }
    Made operator()(const MaxPool& pool) const {
      return make<DevicePool<Executor, Value>>(pool.kernel, false, in());
    }
    Made operator()(const Scale&) const { return make<DeviceScale<Executor, Value>>(in()); }
    Made operator()(const NormSum& norm) const {
      return DeviceNormSum<Executor, Value>::create(executor, norm, request);
    }
    Made operator()(const Affine& affine) const {
      return make<DeviceAffine<Executor, Value>>(affine, in());
    }
  };

  Executor& executor_;
};

}  // namespace ocrtune::device
