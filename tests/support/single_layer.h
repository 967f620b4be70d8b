// Runs the one layer of a graph forward and backward on a backend, all tensors plain NCHW.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/graph/graph.h"
#include "core/graph/tensor.h"

namespace ocrtune {

using Floats = std::vector<float>;

inline Floats draw_floats(std::size_t count, std::uint64_t seed, double low = -1, double high = 1) {
  Random random(seed);
  Floats floats(count);
  for (float& value : floats) value = static_cast<float>(random.uniform(low, high));
  return floats;
}

inline std::size_t plain_floats(const Shape& shape) { return ImageDesc{shape, Layout{1}}.floats(); }

struct LayerRun {
  Floats output;
  std::vector<Floats> input_gradients, parameter_gradients, statistics;
};

struct LayerCase {
  Graph graph;  // one layer
  std::vector<Shape> inputs;
  Layout offered{1};  // of the inputs, if the backend takes it
  bool training = true;
};

// The same seeded inputs, parameters and output gradients on every backend.
inline LayerRun run_layer(const LayerCase& test, const std::string& backend_name,
                          const std::string& precision = "fp32") {
  const auto backend = make_backend({backend_name, precision});
  EXPECT_TRUE(backend.ok());
  const Layer& layer = test.graph.layers.front();
  const Result<Shape> out = output_shape(layer, test.inputs);
  EXPECT_TRUE(out.ok());
  OperatorRequest request{layer, {}, *out, test.training, true};
  std::vector<Floats> inputs;
  std::vector<ImageDesc> offered;
  for (const Shape& shape : test.inputs) offered.push_back({shape, test.offered});
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const ImageDesc plain{test.inputs[i], Layout{1}};
    const Layout wanted = (*backend)->wanted_layout(layer, offered, *out, static_cast<int>(i));
    request.inputs.push_back({test.inputs[i], wanted});
    const Floats values = draw_floats(plain.floats(), 10 + i);
    inputs.emplace_back(request.inputs.back().floats());
    copy_layout(values.data(), plain, inputs.back().data(), wanted);
  }
  auto made = (*backend)->create(request);
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().what);
  Operator& op = **made;
  const OperatorNeeds& needs = op.needs();
  const ImageDesc out_desc{*out, needs.output_layout};

  LayerRun run;
  std::vector<Floats> parameters;
  for (std::size_t i = 0; i < test.graph.parameters.size(); ++i) {
    const Parameter& parameter = test.graph.parameters[i];
    const bool scale = parameter.low == parameter.high && parameter.low == 1;
    parameters.push_back(
        draw_floats(parameter.count, 20 + i, scale ? 0.5 : -0.5, scale ? 1.5 : 0.5));
    run.parameter_gradients.emplace_back(parameter.count);
  }
  for (std::size_t i = 0; i < test.graph.statistics.size(); ++i) {
    run.statistics.push_back(draw_floats(test.graph.statistics[i].count, 30 + i, 0.5, 1.5));
  }
  Floats output(out_desc.floats()), output_gradient(out_desc.floats());
  const Floats slopes = draw_floats(plain_floats(*out), 40);
  copy_layout(slopes.data(), {*out, Layout{1}}, output_gradient.data(), needs.output_layout);
  const auto room = [](std::size_t bytes) {
    auto memory = Memory::allocate(bytes + 64);
    return std::move(*memory);
  };
  const Memory saved = room(needs.saved_bytes), forward = room(needs.forward_scratch_bytes),
               backward = room(needs.backward_scratch_bytes);
  std::vector<Floats> gradients;
  std::vector<const float*> input_pointers, parameter_pointers;
  std::vector<float*> gradient_pointers, parameter_gradient_pointers, statistic_pointers;
  for (auto& input : inputs) {
    input_pointers.push_back(input.data());
    gradients.emplace_back(input.size());
  }
  for (auto& gradient : gradients) gradient_pointers.push_back(gradient.data());
  for (auto& parameter : parameters) parameter_pointers.push_back(parameter.data());
  for (auto& gradient : run.parameter_gradients) {
    parameter_gradient_pointers.push_back(gradient.data());
  }
  for (auto& statistic : run.statistics) statistic_pointers.push_back(statistic.data());
  OperatorCall call;
  call.training = test.training;
  call.inputs = input_pointers;
  call.output = output.data();
  call.parameters = parameter_pointers;
  call.statistics = statistic_pointers;
  call.saved = saved.bytes();
  call.scratch = forward.bytes();
  EXPECT_TRUE(op.forward(call).ok());
  run.output.resize(plain_floats(*out));
  copy_layout(output.data(), out_desc, run.output.data(), Layout{1});
  Floats padded(output.size());
  copy_layout(run.output.data(), {*out, Layout{1}}, padded.data(), needs.output_layout);
  EXPECT_EQ(output, padded) << "padding channels are not 0";
  if (!test.training) return run;
  call.scratch = backward.bytes();
  call.output_gradient = output_gradient.data();
  call.input_gradients = gradient_pointers;
  call.parameter_gradients = parameter_gradient_pointers;
  EXPECT_TRUE(op.backward(call).ok());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    run.input_gradients.emplace_back(plain_floats(test.inputs[i]));
    copy_layout(gradients[i].data(), request.inputs[i], run.input_gradients.back().data(),
                Layout{1});
  }
  return run;
}

// max |a - b| / max |b|
inline double relative_error(const Floats& a, const Floats& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 1e-20, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_FALSE(std::isnan(a[i]));
    most = std::max(most, std::fabs(static_cast<double>(b[i])));
    difference = std::max(difference, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  return difference / most;
}

inline void expect_same(const LayerRun& ours, const LayerRun& judge, double tolerance) {
  EXPECT_LT(relative_error(ours.output, judge.output), tolerance) << "output";
  ASSERT_EQ(ours.input_gradients.size(), judge.input_gradients.size());
  for (std::size_t i = 0; i < judge.input_gradients.size(); ++i) {
    EXPECT_LT(relative_error(ours.input_gradients[i], judge.input_gradients[i]), tolerance)
        << "gradient of input " << i;
  }
  for (std::size_t i = 0; i < judge.parameter_gradients.size(); ++i) {
    EXPECT_LT(relative_error(ours.parameter_gradients[i], judge.parameter_gradients[i]), tolerance)
        << "gradient of parameter " << i;
  }
  for (std::size_t i = 0; i < judge.statistics.size(); ++i) {
    EXPECT_LT(relative_error(ours.statistics[i], judge.statistics[i]), tolerance)
        << "statistic " << i;
  }
}

}  // namespace ocrtune
