// Layer norm of the GPU core: over the channels of each pixel.
#pragma once

#include <cmath>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct LayerNormSizes {
  int channels;
  std::size_t plane;
  double epsilon;
  // Of pixel i: its place in channel 0.
  OCRTUNE_BOTH std::size_t first(std::size_t i) const {
    return i / plane * plane * many(channels) + i % plane;
  }
};

// A row is a tile of neighbouring pixels: lanes stand side by side over them, so that neighbours
// read neighbours, and several deep over the channels.
struct LayerNormTile {
  static constexpr std::size_t kPixels = 32;
  int width, depth, column, layer;
  bool works;  // lanes that fill no layer only keep the barrier complete

  template <typename Lane>
  OCRTUNE_BOTH explicit LayerNormTile(const Lane& lane) {
    const int lanes = lane.count();
    width = lanes >= static_cast<int>(kPixels) ? static_cast<int>(kPixels) : lanes > 1 ? 2 : 1;
    depth = lanes / width;
    column = lane.index() % width;
    layer = lane.index() / width;
    works = layer < depth;
  }
};

template <typename Value>
struct LayerNormRow {
  LayerNormSizes plan;
  std::size_t count;  // pixels of all samples
  const Value* x;
  const float *gamma, *beta;
  Value* y;
  float* saved;  // saved[2 i] mean, saved[2 i + 1] 1 / deviation
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const LayerNormTile tile(lane);
    for (std::size_t q = many(tile.column); q < LayerNormTile::kPixels; q += many(tile.width)) {
      const std::size_t i = row * LayerNormTile::kPixels + q;
      const bool works = tile.works && i < count;
      const std::size_t first = plan.first(i);
      const int end = works ? plan.channels : 0;
      float sum = 0, squares = 0;  // a lane's own: consumer cards have few doubles
      for (int c = tile.layer; c < end; c += tile.depth) sum += x[first + many(c) * plan.plane];
      const auto mean = static_cast<float>(lane.sum_of_column(sum, tile.width) / plan.channels);
      for (int c = tile.layer; c < end; c += tile.depth) {
        const float d = x[first + many(c) * plan.plane] - mean;
        squares += d * d;
      }
      const double variance = lane.sum_of_column(squares, tile.width) / plan.channels;
      const auto inverse = static_cast<float>(1 / sqrt(variance + plan.epsilon));
      if (works && tile.layer == 0) {
        saved[2 * i] = mean;
        saved[2 * i + 1] = inverse;
      }
      for (int c = tile.layer; c < end; c += tile.depth) {
        const std::size_t at = first + many(c) * plan.plane;
        y[at] = (x[at] - mean) * inverse * gamma[c] + beta[c];
      }
    }
  }
};

template <typename Value>
struct LayerNormBackRow {
  LayerNormSizes plan;
  std::size_t count;
  const Value* x;
  const float *gamma, *saved;
  const Value* dy;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const LayerNormTile tile(lane);
    for (std::size_t q = many(tile.column); q < LayerNormTile::kPixels; q += many(tile.width)) {
      const std::size_t i = row * LayerNormTile::kPixels + q;
      const bool works = tile.works && i < count;
      const std::size_t first = plan.first(i);
      const int end = works ? plan.channels : 0;
      const float mean = works ? saved[2 * i] : 0, inverse = works ? saved[2 * i + 1] : 0;
      float sum = 0, product = 0;
      for (int c = tile.layer; c < end; c += tile.depth) {
        const std::size_t at = first + many(c) * plan.plane;
        const float slope = dy[at] * gamma[c];
        sum += slope;
        product += slope * (x[at] - mean) * inverse;
      }
      const auto a = static_cast<float>(lane.sum_of_column(sum, tile.width) / plan.channels);
      const auto b = static_cast<float>(lane.sum_of_column(product, tile.width) / plan.channels);
      for (int c = tile.layer; c < end; c += tile.depth) {
        const std::size_t at = first + many(c) * plan.plane;
        dx[at] = inverse * (dy[at] * gamma[c] - a - (x[at] - mean) * inverse * b);
      }
    }
  }
};

template <typename Value>
struct LayerNormTerm {
  static constexpr int kSums = 2;
  using Sum = float;
  LayerNormSizes plan;
  const Value* x;
  const float* saved;
  const Value* dy;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
    const std::size_t pixel = place.n * plan.plane + place.p;
    const float slope = dy[place.at];
    sums[0] += slope;
    sums[1] += slope * (x[place.at] - saved[2 * pixel]) * saved[2 * pixel + 1];
  }
};

template <typename Executor, typename Value>
class DeviceLayerNorm final : public DeviceOperator<Executor, Value> {
 public:
  DeviceLayerNorm(Executor& executor, const LayerNorm& norm, const Shape& in)
      : DeviceOperator<Executor, Value>(executor), in_(in), plan_{in.c, pixels(in), norm.epsilon} {
    this->needs_.saved_bytes = 2 * places() * sizeof(float);
    this->needs_.backward_scratch_bytes = sums().bytes(LayerNormTerm<Value>::kSums);
  }
  Status forward(const OperatorCall& call) override {
    return this->executor_.rows(
        tiles(),
        LayerNormRow<Value>{plan_, places(), this->x(call), call.parameters[0], call.parameters[1],
                            this->y(call), reinterpret_cast<float*>(call.saved)});
  }
  Status backward(const OperatorCall& call) override {
    const auto* saved = reinterpret_cast<const float*>(call.saved);
    if (this->dx(call) != nullptr) {
      OCRTUNE_TRY(this->executor_.rows(
          tiles(), LayerNormBackRow<Value>{plan_, places(), this->x(call), call.parameters[0],
                                           saved, this->dy(call), this->dx(call)}));
    }
    return sum_channels(
        this->executor_, sums(), LayerNormTerm<Value>{plan_, this->x(call), saved, this->dy(call)},
        StoreNormSums{call.parameter_gradients[1], call.parameter_gradients[0]}, call.scratch);
  }

 private:
  SumSizes sums() const { return sum_sizes(in_.n, in_.c, pixels(in_)); }
  std::size_t tiles() const {
    return (places() + LayerNormTile::kPixels - 1) / LayerNormTile::kPixels;
  }
  std::size_t places() const { return many(in_.n) * pixels(in_); }
  Shape in_;
  LayerNormSizes plan_;
};

}  // namespace ocrtune::device
