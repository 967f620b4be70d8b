// Are the operators of the GPU core right in a precision whose rounding a whole network blows up?
// Each layer by itself, on drawn numbers that the type holds exactly, against the reference
// backend: what is wrong shows, and rounding stays what one layer's is.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/backends/reference/reference_backend.h"
#include "core/gpu/device_backend.h"

namespace ocrtune::device {

// |a - b| / |b| (Euclidean norms), and NaN where a number is none.
inline double relative_distance(std::span<const float> a, std::span<const float> b) {
  double size = 0, apart = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    size += static_cast<double>(b[i]) * b[i];
    apart += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(apart) / std::max(std::sqrt(size), 1e-20);
}

// One layer on a backend: what goes in, what comes out.
struct LayerNumbers {
  using Floats = std::vector<float>;
  std::vector<Floats> inputs, parameters, statistics;
  Floats slopes;  // of the output
  Floats output;
  std::vector<Floats> input_gradients, parameter_gradients;
};

template <typename Executor, typename Value>
class LayerCheck {
 public:
  using Floats = std::vector<float>;
  // `parameters` and `statistics` are the graph's.
  LayerCheck(Executor& executor, const Graph& graph, std::span<const float> parameters,
             std::span<const float> statistics, std::uint64_t seed)
      : executor_(executor),
        graph_(graph),
        parameters_(parameters),
        statistics_(statistics),
        random_(seed) {}

  // The largest relative distance over output, input gradients and parameter gradients.
  Result<double> run(const Layer& layer, const std::vector<Shape>& inputs, const Shape& output) {
    LayerNumbers numbers = draw(layer, inputs, output);
    OperatorRequest request{layer, {}, output, true, true};
    for (const Shape& shape : inputs) request.inputs.push_back({shape, Layout{1}});
    LayerNumbers expected = numbers;
    OCRTUNE_TRY(run_reference(request, expected));
    OCRTUNE_TRY(run_device(request, numbers));
    return worst(numbers, expected);
  }

 private:
  using Buffer = typename Executor::Buffer;

  Floats drawn(std::size_t count) {
    Floats out(count);
    for (float& one : out) one = Value(static_cast<float>(random_.uniform(-1, 1)));
    return out;
  }
  // A bf16 copy of the weights is what products read, so the reference gets weights that it holds.
  LayerNumbers draw(const Layer& layer, const std::vector<Shape>& inputs, const Shape& output) {
    LayerNumbers out;
    for (const Shape& shape : inputs) {
      out.inputs.push_back(drawn(floats(shape)));
      out.input_gradients.emplace_back(floats(shape));
    }
    for (const int index : layer.parameters) {
      const Parameter& parameter = graph_.parameters[many(index)];
      Floats own(
          parameters_.begin() + static_cast<std::ptrdiff_t>(parameter.offset),
          parameters_.begin() + static_cast<std::ptrdiff_t>(parameter.offset + parameter.count));
      for (float& one : own) one = Value(one);
      out.parameters.push_back(std::move(own));
      out.parameter_gradients.emplace_back(parameter.count);
    }
    for (const int index : layer.statistics) {
      const Parameter& statistic = graph_.statistics[many(index)];
      const auto first = statistics_.begin() + static_cast<std::ptrdiff_t>(statistic.offset);
      out.statistics.emplace_back(first, first + static_cast<std::ptrdiff_t>(statistic.count));
    }
    out.output.resize(floats(output));
    out.slopes = drawn(floats(output));
    return out;
  }

  Status run_reference(const OperatorRequest& request, LayerNumbers& numbers) const {
    const auto backend = make_reference_backend();
    auto made = OCRTUNE_TRY(backend->create(request));
    Operator& op = *made;
    std::vector<const float*> inputs, parameters;
    std::vector<float*> statistics, dx, dw;
    for (auto& one : numbers.inputs) inputs.push_back(one.data());
    for (auto& one : numbers.parameters) parameters.push_back(one.data());
    for (auto& one : numbers.statistics) statistics.push_back(one.data());
    for (auto& one : numbers.input_gradients) dx.push_back(one.data());
    for (auto& one : numbers.parameter_gradients) dw.push_back(one.data());
    const OperatorNeeds& needs = op.needs();
    const auto room = [](std::size_t bytes) { return Memory::allocate(bytes + kMemoryAlignment); };
    const auto saved = room(needs.saved_bytes);
    const auto scratch = room(std::max(needs.forward_scratch_bytes, needs.backward_scratch_bytes));
    if (!saved) return saved.error();
    if (!scratch) return scratch.error();
    OperatorCall call;
    call.inputs = inputs;
    call.output = numbers.output.data();
    call.parameters = parameters;
    call.statistics = statistics;
    call.saved = saved->bytes();
    call.scratch = scratch->bytes();
    OCRTUNE_TRY(op.forward(call));
    call.output_gradient = numbers.slopes.data();
    call.input_gradients = dx;
    call.parameter_gradients = dw;
    return op.backward(call);
  }

  // Owns what a call points to on the device.
  struct Room {
    std::vector<Buffer> buffers;
  };
  template <typename Number>
  Result<Number*> place(Room& room, const Floats& from) {
    auto buffer =
        OCRTUNE_TRY(executor_.allocate(std::max<std::size_t>(64, from.size() * sizeof(Number))));
    room.buffers.push_back(std::move(buffer));
    auto* start = room.buffers.back().template as<Number>();
    const std::vector<Number> numbers(from.begin(), from.end());
    OCRTUNE_TRY(executor_.upload(start, numbers.data(), numbers.size() * sizeof(Number)));
    return start;
  }
  template <typename Number, typename Pointer>
  Status place_all(Room& room, const std::vector<Floats>& from, std::vector<Pointer>& to) {
    for (const Floats& one : from) {
      Number* placed = OCRTUNE_TRY(place<Number>(room, one));
      to.push_back(reinterpret_cast<Pointer>(placed));
    }
    return Status();
  }
  template <typename Number>
  Status fetch(Floats& to, const void* from) {
    std::vector<Number> numbers(to.size());
    OCRTUNE_TRY(executor_.download(numbers.data(), from, numbers.size() * sizeof(Number)));
    std::copy(numbers.begin(), numbers.end(), to.begin());
    return Status();
  }

  Status run_device(const OperatorRequest& request, LayerNumbers& numbers) {
    auto made = OCRTUNE_TRY(DeviceBackend<Executor, Value>(executor_).create(request));
    Operator& op = *made;
    const OperatorNeeds& needs = op.needs();
    Room room;
    std::vector<const float*> inputs, parameters;
    std::vector<const void*> copies;
    std::vector<float*> statistics, dx, dw, ends;
    OCRTUNE_TRY(place_all<Value>(room, numbers.inputs, inputs));
    OCRTUNE_TRY(place_all<float>(room, numbers.parameters, parameters));
    OCRTUNE_TRY(place_all<Value>(room, numbers.parameters, copies));
    OCRTUNE_TRY(place_all<float>(room, numbers.statistics, statistics));
    OCRTUNE_TRY(place_all<Value>(room, numbers.input_gradients, dx));
    OCRTUNE_TRY(place_all<float>(room, numbers.parameter_gradients, dw));
    OCRTUNE_TRY(place_all<Value>(room, {numbers.output, numbers.slopes}, ends));
    const std::size_t work = std::max(needs.forward_scratch_bytes, needs.backward_scratch_bytes);
    std::vector<float*> rooms;
    OCRTUNE_TRY(place_all<float>(
        room, {Floats(needs.saved_bytes / sizeof(float) + 16), Floats(work / sizeof(float) + 16)},
        rooms));
    OperatorCall call;
    call.inputs = inputs;
    call.output = ends[0];
    call.parameters = parameters;
    call.parameter_copies = copies;
    call.statistics = statistics;
    call.saved = reinterpret_cast<std::byte*>(rooms[0]);
    call.scratch = reinterpret_cast<std::byte*>(rooms[1]);
    OCRTUNE_TRY(op.forward(call));
    OCRTUNE_TRY(fetch<Value>(numbers.output, call.output));
    call.output_gradient = ends[1];
    call.input_gradients = dx;
    call.parameter_gradients = dw;
    OCRTUNE_TRY(op.backward(call));
    for (std::size_t k = 0; k < dx.size(); ++k) {
      OCRTUNE_TRY(fetch<Value>(numbers.input_gradients[k], dx[k]));
    }
    for (std::size_t k = 0; k < dw.size(); ++k) {
      OCRTUNE_TRY(fetch<float>(numbers.parameter_gradients[k], dw[k]));
    }
    return Status();
  }

  static double worst(const LayerNumbers& ours, const LayerNumbers& expected) {
    double largest = 0;
    const auto count = [&](const Floats& a, const Floats& b) {
      const double apart = relative_distance(a, b);
      if (!(apart <= largest)) largest = apart;
    };
    count(ours.output, expected.output);
    for (std::size_t k = 0; k < expected.input_gradients.size(); ++k) {
      count(ours.input_gradients[k], expected.input_gradients[k]);
    }
    for (std::size_t k = 0; k < expected.parameter_gradients.size(); ++k) {
      count(ours.parameter_gradients[k], expected.parameter_gradients[k]);
    }
    return largest;
  }

  Executor& executor_;
  const Graph& graph_;
  std::span<const float> parameters_, statistics_;
  Random random_;
};

// bf16 keeps 8 bits: half a unit of the last is 1/512, and a layer rounds a few times.
inline constexpr double kMaxLayerError = 0.02;

struct LayersChecked {
  double error = 0;  // the largest
  std::string layer;
};

// Every layer of the graph, for a batch of this shape.
template <typename Value, typename Executor>
Result<LayersChecked> check_layers(Executor& executor, const Graph& graph, const Shape& image,
                                   std::span<const float> parameters,
                                   std::span<const float> statistics, std::uint64_t seed) {
  const auto shapes = OCRTUNE_TRY(infer_shapes(graph, image));
  LayerCheck<Executor, Value> check(executor, graph, parameters, statistics, seed);
  LayersChecked out;
  for (const Layer& layer : graph.layers) {
    std::vector<Shape> inputs;
    for (const int input : layer.inputs) inputs.push_back(shapes[many(input)]);
    const auto error = OCRTUNE_TRY(check.run(layer, inputs, shapes[many(layer.output)]));
    if (!(error <= out.error)) out = {error, layer.name};
  }
  return out;
}

}  // namespace ocrtune::device
