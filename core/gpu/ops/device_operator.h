// What the operators of the GPU core have in common. They work over [N, C, H, W] throughout, so
// that no layout is ever converted between them: a linear layer and attention's products are
// batched products over the samples.
//
// Templates over an Executor, which runs kernels, products and convolutions:
// core/gpu/cuda/cuda_executor.h on a GPU, loops on the host in tests, where they are compared with
// the reference backend. An Executor has
//   for_each(count, work), rows(count, work)   run core/gpu/ops/device_rows.h's kinds
//   product(DeviceProduct)                 a batched matrix product
//   clear(start, bytes)                    sets zeros
//   make_conv(ConvSizes)                   an engine for one convolution
//   max_scratch()                         bytes to which operators cut work that may be cut
// all of which only enqueue; and over the Value that activations are kept as
// (core/gpu/ops/device_value.h).
#pragma once

#include <utility>

#include "core/gpu/ops/device_map.h"
#include "core/gpu/ops/device_rows.h"
#include "core/gpu/ops/device_sums.h"
#include "core/gpu/ops/device_value.h"
#include "core/graph/backend.h"

namespace ocrtune {

struct ConvSizes {
  Conv conv;
  Shape in, out;
  bool training = true;
  Element element = Element::fp32;
};

// One convolution without its bias; `scratch` holds at least scratch_bytes(). Images, weights and
// their slopes are of the sizes' element, but dw is floats.
class ConvEngine {
 public:
  virtual ~ConvEngine() = default;
  virtual std::size_t scratch_bytes() const = 0;
  virtual Status forward(const void* x, const void* w, void* y, std::byte* scratch) = 0;
  virtual Status backward_input(const void* w, const void* dy, void* dx, std::byte* scratch) = 0;
  virtual Status backward_weight(const void* x, const void* dy, float* dw, std::byte* scratch) = 0;
};

namespace device {

inline constexpr std::size_t kMaxScratch = std::size_t{128} << 20;

inline std::size_t pixels(const Shape& shape) { return many(shape.h) * many(shape.w); }
inline std::size_t floats(const Shape& shape) {
  return many(shape.n) * many(shape.c) * pixels(shape);
}

template <typename Executor, typename Value>
class DeviceOperator : public Operator {
 public:
  explicit DeviceOperator(Executor& executor) : executor_(executor) {}
  const OperatorNeeds& needs() const override { return needs_; }

 protected:
  using Call = OperatorCall;
  // A call's activations as what they are.
  static const Value* x(const Call& call, std::size_t k = 0) {
    return reinterpret_cast<const Value*>(call.inputs[k]);
  }
  static Value* y(const Call& call) { return reinterpret_cast<Value*>(call.output); }
  static const Value* dy(const Call& call) {
    return reinterpret_cast<const Value*>(call.output_gradient);
  }
  static Value* dx(const Call& call, std::size_t k = 0) {
    return reinterpret_cast<Value*>(call.input_gradients[k]);
  }
  // A weight as products read it.
  static const Value* weight(const Call& call, std::size_t k = 0) {
    return static_cast<const Value*>(call.parameter_copies[k]);
  }

  // NOLINTBEGIN(readability-identifier-naming): the underscore of private members, for heirs
  Executor& executor_;
  OperatorNeeds needs_{Layout{1}, true, false, 0, 0, 0};
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace device
}  // namespace ocrtune
