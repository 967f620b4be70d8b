// The element-wise operators of the GPU core, and concatenation.
#pragma once

#include <vector>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

template <typename Value>
struct ScaleSumRow {  // a row is a channel of a sample
  std::size_t plane;
  const Value *x, *dy;
  Value* dfactors;
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

template <typename Executor, typename Value>
class DeviceSum final : public DeviceOperator<Executor, Value> {
 public:
  DeviceSum(Executor& executor, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), in_(in) {
    this->needs_.backward_reads_inputs = false;
  }
  Status forward(const OperatorCall& call) override {
    for (std::size_t k = 1; k < call.inputs.size(); ++k) {
      const Value* so_far = k == 1 ? this->x(call) : this->y(call);
      OCRTUNE_TRY(spans(this->executor_, floats(in_),
                        SumSpan<Value>{so_far, this->x(call, k), this->y(call)}));
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      if (this->dx(call, k) == nullptr) continue;
      OCRTUNE_TRY(
          spans(this->executor_, floats(in_), CopySpan<Value>{this->dy(call), this->dx(call, k)}));
    }
    return Status();
  }

 private:
  Shape in_;
};

template <typename Executor, typename Value>
class DeviceActivate final : public DeviceOperator<Executor, Value> {
 public:
  DeviceActivate(Executor& executor, const Activate& activate, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), kind_(activate.activation), in_(in) {}
  Status forward(const OperatorCall& call) override {
    return spans(this->executor_, floats(in_),
                 ActivateSpan<Value>{kind_, this->x(call), this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) == nullptr) return Status();
    return spans(this->executor_, floats(in_),
                 ActivateBackSpan<Value>{kind_, this->x(call), this->dy(call), this->dx(call)});
  }

 private:
  Activation kind_;
  Shape in_;
};

template <typename Executor, typename Value>
class DeviceConcat final : public DeviceOperator<Executor, Value> {
 public:
  DeviceConcat(Executor& executor, const OperatorRequest& request)
      : DeviceOperator<Executor, Value>(executor), out_(request.output) {
    this->needs_.backward_reads_inputs = false;
    for (const ImageDesc& input : request.inputs) inputs_.push_back(input.shape);
  }
  // A block is a sample's share of one input.
  Status forward(const OperatorCall& call) override {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      OCRTUNE_TRY(move_blocks(this->executor_, many(out_.n), part(k), this->x(call, k),
                              {1, part(k), 0, 0}, this->y(call), {1, whole(), 0, offset}));
      offset += part(k);
    }
    return Status();
  }
  Status backward(const OperatorCall& call) override {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (this->dx(call, k) != nullptr) {
        OCRTUNE_TRY(move_blocks(this->executor_, many(out_.n), part(k), this->dy(call),
                                {1, whole(), 0, offset}, this->dx(call, k), {1, part(k), 0, 0}));
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

template <typename Executor, typename Value>
class DeviceScale final : public DeviceOperator<Executor, Value> {
 public:
  DeviceScale(Executor& executor, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), in_(in) {}
  Status forward(const OperatorCall& call) override {
    return this->executor_.rows(
        many(in_.n) * many(in_.c),
        ScaleRow<Value>{pixels(in_), this->x(call), this->x(call, 1), this->y(call)});
  }
  Status backward(const OperatorCall& call) override {
    if (this->dx(call) != nullptr) {
      OCRTUNE_TRY(this->executor_.rows(
          many(in_.n) * many(in_.c),
          ScaleRow<Value>{pixels(in_), this->dy(call), this->x(call, 1), this->dx(call)}));
    }
    if (this->dx(call, 1) == nullptr) return Status();
    return this->executor_.rows(
        many(in_.n) * many(in_.c),
        ScaleSumRow<Value>{pixels(in_), this->x(call), this->dy(call), this->dx(call, 1)});
  }

 private:
  Shape in_;
};

}  // namespace ocrtune::device
