// The GPU core on the host: every kernel's logic, the operators' use of them and the whole step,
// run by loops and compared with the reference backend. What a GPU alone can show is that the
// hardware and NVIDIA's libraries do what these loops do.
#include "core/gpu/device_network.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/reference/reference_backend.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/graph/optimizer.h"
#include "core/models/model.h"
#include "tests/support/host_executor.h"

namespace ocrtune {
namespace {

Batch draw_batch(int count, int height, int width, int classes, int label) {
  Random random(11);
  Batch batch;
  batch.count = count;
  batch.height = height;
  batch.width = width;
  batch.images.resize(static_cast<std::size_t>(count * 3 * height * width));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  for (int n = 0; n < count; ++n) {
    std::vector<int> symbols(static_cast<std::size_t>(n == 0 ? 1 : label));
    for (int& symbol : symbols) symbol = static_cast<int>(random.integer(1, classes - 1));
    if (symbols.size() > 2) symbols[1] = symbols[0];  // a repeat needs a blank between
    batch.labels.push_back(std::move(symbols));
  }
  return batch;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b, std::size_t first,
                      std::size_t count, double least) {
  double size = 0, difference = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    size += static_cast<double>(b[i]) * b[i];
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), least);
}

struct Case {
  const char* model;
  int height, width, label;
  double bound;
};

TEST(DeviceNetwork, AStepAgreesWithTheReference) {
  constexpr int kClasses = 12;
  for (const Case& given :
       {Case{"crnn", 32, 40, 4, 1e-3}, Case{"crnn-mv3", 32, 16, 2, 2e-3},
        Case{"svtrv2-small", 48, 24, 2, 1e-3}, Case{"ppocr-mobile", 48, 32, 1, 2e-3}}) {
    const Graph graph = find_model(given.model)->build(kClasses);
    const Batch batch = draw_batch(2, given.height, given.width, kClasses, given.label);
    std::vector<float> parameters(graph.parameter_floats), statistics(graph.statistic_floats);
    fill_initial_parameters(graph, 5, parameters.data());
    fill_initial_statistics(graph, statistics.data());

    HostExecutor executor;
    auto network = device::DeviceNetwork<HostExecutor>::create(
        graph, executor, {2, 3, given.height, given.width}, {4});
    ASSERT_TRUE(network) << given.model;
    ASSERT_TRUE((*network)->set_state(parameters, statistics));
    const auto loss = (*network)->train(batch);
    ASSERT_TRUE(loss) << given.model << ": " << loss.error().what;
    std::vector<float> ours(graph.parameter_floats), theirs(graph.parameter_floats, 0.0F);
    ASSERT_TRUE((*network)->get_gradients(ours));

    const auto backend = make_reference_backend();
    Network judge(graph, *backend);
    const auto expected = judge.train(batch, parameters, statistics, theirs);
    ASSERT_TRUE(expected);
    EXPECT_NEAR(loss->mean, expected->mean, 1e-4 * expected->mean) << given.model;
    EXPECT_EQ(loss->impossible, expected->impossible);
    double largest = 0;
    for (const Parameter& p : graph.parameters) {
      double size = 0;
      for (std::size_t i = p.offset; i < p.offset + p.count; ++i) size += theirs[i] * theirs[i];
      largest = std::max(largest, std::sqrt(size));
    }
    for (const Parameter& p : graph.parameters) {
      EXPECT_LT(relative_error(ours, theirs, p.offset, p.count, 1e-3 * largest), given.bound)
          << given.model << ": " << p.name;
    }
    EXPECT_GT((*network)->footprint().total(), 4 * graph.parameter_floats * sizeof(float));

    AdamW settings;
    settings.epsilon = 0.1;  // else a first step hardly depends on the gradients' size
    settings.clip_norm = 0.25 * gradient_norm(graph, ours);
    std::vector<float> first(graph.parameter_floats, 0.0F), second = first, updated(first.size());
    AdamWState state{first, second, 0};
    update_parameters(settings, graph, ours, state, parameters);
    ASSERT_TRUE((*network)->update(settings));
    ASSERT_TRUE((*network)->get_parameters(updated));
    for (const Parameter& p : graph.parameters) {
      EXPECT_LT(relative_error(updated, parameters, p.offset, p.count, 1e-6), 1e-4) << p.name;
    }
  }
}

TEST(DeviceNetwork, LabelsThatCannotBeSpeltCostNothing) {
  const Graph graph = find_model("crnn")->build(12);
  HostExecutor executor;
  auto network = device::DeviceNetwork<HostExecutor>::create(graph, executor, {2, 3, 32, 16}, {9});
  ASSERT_TRUE(network);
  std::vector<float> parameters(graph.parameter_floats), statistics(graph.statistic_floats);
  fill_initial_parameters(graph, 5, parameters.data());
  fill_initial_statistics(graph, statistics.data());
  ASSERT_TRUE((*network)->set_state(parameters, statistics));
  const auto loss = (*network)->train(draw_batch(2, 32, 16, 12, 9));  // T is 4
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->impossible, 1);
  EXPECT_TRUE(std::isfinite(loss->mean));
  std::vector<float> gradients(graph.parameter_floats);
  ASSERT_TRUE((*network)->get_gradients(gradients));
  for (const float one : gradients) ASSERT_TRUE(std::isfinite(one));
}

TEST(DeviceNetwork, BatchesOfAnotherShapeAreRefused) {
  const Graph graph = find_model("crnn")->build(12);
  HostExecutor executor;
  auto network = device::DeviceNetwork<HostExecutor>::create(graph, executor, {2, 3, 32, 40}, {4});
  ASSERT_TRUE(network);
  EXPECT_FALSE((*network)->train(draw_batch(2, 32, 48, 12, 3)));
  EXPECT_FALSE((*network)->train(draw_batch(3, 32, 40, 12, 3)));
  EXPECT_FALSE((*network)->train(draw_batch(2, 32, 40, 12, 5))) << "a label beyond the plan";
  Batch wrong = draw_batch(2, 32, 40, 12, 3);
  wrong.labels[1][0] = 12;
  EXPECT_FALSE((*network)->train(wrong)) << "a class that is not there";
}

// The folded form, with biases and activations in the convolutions.
TEST(DeviceNetwork, ReadsAsTheReference) {
  for (const char* model : {"crnn", "crnn-mv3", "svtrv2-small", "ppocr-mobile"}) {
    const Graph trained = find_model(model)->build(12);
    const InferenceForm form = make_inference_form(trained);
    std::vector<float> weights(trained.parameter_floats), statistics(trained.statistic_floats);
    fill_initial_parameters(trained, 5, weights.data());
    fill_initial_statistics(trained, statistics.data());
    std::vector<float> folded(form.graph.parameter_floats), moved(form.graph.statistic_floats);
    fold_parameters(form, trained, weights.data(), statistics.data(), folded.data(), moved.data());
    const int height = find_model(model)->height;
    const Batch batch = draw_batch(1, height, 24, 12, 1);

    HostExecutor executor;
    auto network = device::DeviceNetwork<HostExecutor>::create(form.graph, executor,
                                                               {1, 3, height, 24}, {1, false});
    ASSERT_TRUE(network) << model << ": " << network.error().what;
    ASSERT_TRUE((*network)->set_state(folded, moved));
    const auto ours = (*network)->infer(batch);
    ASSERT_TRUE(ours) << model;

    const auto backend = make_reference_backend();
    Network judge(trained, *backend);
    const auto theirs = judge.infer(batch, weights, statistics);
    ASSERT_TRUE(theirs);
    ASSERT_EQ(ours->size(), theirs->size());
    const std::vector<float> expected(theirs->begin(), theirs->end());
    EXPECT_LT(relative_error(*ours, expected, 0, ours->size(), 1e-6), 1e-4) << model;
    EXPECT_LT((*network)->footprint().state_bytes, 2 * 4 * form.graph.parameter_floats);
  }
}

}  // namespace
}  // namespace ocrtune
