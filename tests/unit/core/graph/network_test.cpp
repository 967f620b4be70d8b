#include "core/graph/network.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/gpu/device_check.h"
#include "core/graph/plan.h"

namespace ocrtune {
namespace {

Conv make_conv(int out) {
  Conv conv;
  conv.out_channels = out;
  conv.bias = true;
  return conv;
}

// Values with several readers, sums of sums, and an input that is read again later: all the ways
// in which gradients meet. No batch norm.
Graph branching_graph() {
  GraphBuilder net("branching", 3);
  const int a = net.conv("a", 0, make_conv(16));
  const int b = net.conv("b", a, make_conv(16));
  const int s = net.sum("s", {a, b});
  const int c = net.conv("c", s, make_conv(16));
  const int t = net.sum("t", {s, c, a});
  const int d = net.conv("d", t, make_conv(16));
  const int u = net.sum("u", {b, d, t});
  Conv flatten = make_conv(7);
  flatten.kernel = {4, 1};
  flatten.pad = {0, 0};
  return net.finish(net.conv("e", u, flatten));
}

Batch draw_batch(int count, std::uint64_t seed) {
  Random random(seed);
  Batch batch;
  batch.count = count;
  batch.height = 4;
  batch.width = 8;
  batch.images.resize(static_cast<std::size_t>(count * 3 * 4 * 8));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  for (int n = 0; n < count; ++n) {
    batch.labels.push_back({static_cast<int>(random.integer(1, 6)), 3});
  }
  return batch;
}

struct Outcome {
  double loss = 0;
  std::vector<float> gradients, statistics;
};

Outcome run(const Graph& graph, const char* backend_name, const Batch& batch,
            const std::vector<float>& parameters) {
  const auto backend = make_backend({backend_name, "fp32"});
  Network network(graph, **backend);
  Outcome outcome;
  outcome.gradients.resize(graph.parameter_floats);
  outcome.statistics.resize(graph.statistic_floats);
  const auto loss = network.train(batch, parameters, outcome.statistics, outcome.gradients);
  EXPECT_TRUE(loss.ok());
  outcome.loss = loss->mean;
  return outcome;
}

std::vector<float> initial(const Graph& graph) {
  std::vector<float> parameters(graph.parameter_floats);
  fill_initial_parameters(graph, 3, parameters.data());
  return parameters;
}

TEST(Network, AddsGradientsWhereBranchesMeet) {
  const Graph graph = branching_graph();
  const Batch batch = draw_batch(2, 1);
  std::vector<float> parameters = initial(graph);
  for (const char* backend : {"reference", "onednn"}) {
    const Outcome at = run(graph, backend, batch, parameters);
    for (const Parameter& parameter : graph.parameters) {
      // The derivative along the gradient of one parameter is the square of its length.
      double squares = 0;
      const float* gradient = at.gradients.data() + parameter.offset;
      for (std::size_t i = 0; i < parameter.count; ++i) squares += gradient[i] * gradient[i];
      const double step = 1e-2 / std::sqrt(squares);
      const auto moved = [&](double by) {
        std::vector<float> there = parameters;
        for (std::size_t i = 0; i < parameter.count; ++i) {
          there[parameter.offset + i] += static_cast<float>(by * gradient[i]);
        }
        return run(graph, backend, batch, there).loss;
      };
      EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step) / squares, 1, 2e-3)
          << backend << " " << parameter.name;
    }
  }
}

TEST(Network, MeanOfTwoHalvesIsTheGradientOfTheWhole) {
  const Graph graph = branching_graph();
  const std::vector<float> parameters = initial(graph);
  const Batch whole = draw_batch(4, 1);
  Outcome halves[2];
  for (int half = 0; half < 2; ++half) {
    Batch part = whole;
    part.count = 2;
    const std::size_t floats = whole.images.size() / 2;
    const auto start = whole.images.begin() + static_cast<std::ptrdiff_t>(floats) * half;
    part.images.assign(start, start + static_cast<std::ptrdiff_t>(floats));
    part.labels.assign(whole.labels.begin() + 2 * half, whole.labels.begin() + 2 * half + 2);
    halves[half] = run(graph, "onednn", part, parameters);
  }
  const Outcome both = run(graph, "onednn", whole, parameters);
  EXPECT_NEAR(both.loss, (halves[0].loss + halves[1].loss) / 2, 1e-5);
  for (std::size_t i = 0; i < both.gradients.size(); ++i) {
    EXPECT_NEAR(both.gradients[i], (halves[0].gradients[i] + halves[1].gradients[i]) / 2, 1e-5);
  }
}

int add_branches(GraphBuilder& net, const std::string& name, int x, int out, bool adds_input) {
  Conv conv = make_conv(4 * out);
  conv.kernel = {1, 1};
  conv.pad = {0, 0};
  conv.branches = 4;
  conv.bias = false;
  std::vector<int> summands = {net.conv(name + ".branches", x, conv)};
  if (adds_input) summands.push_back(x);
  return net.norm_sum(name + ".sum", summands, out);
}

// Of values with a mean far from 0, too, of which squares would leave little.
TEST(Network, BranchesAreJoinedWithTheSumOfTheirNorms) {
  GraphBuilder net("joined", 3);
  const int a = net.conv("a", 0, make_conv(16));
  const int b = net.activate("b", add_branches(net, "same", a, 16, true), Activation::hard_swish);
  const int c = net.activate("c", add_branches(net, "wide", b, 32, false), Activation::hard_swish);
  const int d = net.activate("d", add_branches(net, "slim", c, 16, false), Activation::hard_swish);
  Conv flatten = make_conv(7);
  flatten.kernel = {4, 1};
  flatten.pad = {0, 0};
  const Graph graph = net.finish(net.conv("e", d, flatten));
  const auto backend = make_backend({"onednn", "fp32"});
  const auto plan = make_plan(graph, **backend, {6, 3, 4, 8}, true);
  ASSERT_TRUE(plan.ok());
  for (const PlanStep& step : plan->steps) {
    const std::string name = step.layer == nullptr ? "" : step.layer->name;
    EXPECT_EQ(name.find("branches"), std::string::npos) << name;
  }
  for (const float shift : {0.0F, 30.0F}) {
    Batch batch = draw_batch(6, 1);
    for (float& pixel : batch.images) pixel += shift;
    const std::vector<float> parameters = initial(graph);
    const Outcome joined = run(graph, "onednn", batch, parameters);
    const Outcome apart = run(graph, "reference", batch, parameters);
    EXPECT_NEAR(joined.loss / apart.loss, 1, 1e-5);
    for (const Parameter& parameter : graph.parameters) {
      if (parameter.name == "a.bias") continue;  // 0: the norms take it away
      const auto of = [&](const Outcome& outcome) {
        return std::span(outcome.gradients).subspan(parameter.offset, parameter.count);
      };
      EXPECT_LT(device::relative_distance(of(joined), of(apart)), shift == 0 ? 1e-4 : 1e-3)
          << parameter.name << " " << shift;
    }
    EXPECT_LT(device::relative_distance(joined.statistics, apart.statistics), 1e-5);
  }
}

TEST(Network, KeepsPlansOfManyWidths) {
  const Graph graph = branching_graph();
  const auto backend = make_backend({"onednn", "fp32"});
  Network network(graph, **backend);
  std::vector<float> parameters = initial(graph), statistics, gradients(graph.parameter_floats);
  for (int round = 0; round < 2; ++round) {
    for (int width = 4; width < 44; ++width) {
      Batch batch = draw_batch(1, 2);
      batch.width = width;
      batch.images.assign(static_cast<std::size_t>(3 * 4 * width), 0.5F);
      ASSERT_TRUE(network.train(batch, parameters, statistics, gradients).ok());
    }
  }
}

// Logits of each image alone, one after the other.
std::vector<float> one_by_one(Network& network, const Batch& whole,
                              const std::vector<float>& parameters) {
  std::vector<float> logits;
  Batch one = whole;
  one.count = 1;
  const std::size_t floats = whole.images.size() / static_cast<std::size_t>(whole.count);
  for (std::size_t first = 0; first < whole.images.size(); first += floats) {
    const auto start = whole.images.begin() + static_cast<std::ptrdiff_t>(first);
    one.images.assign(start, start + static_cast<std::ptrdiff_t>(floats));
    const auto found = network.infer(one, parameters, {});
    if (found) logits.insert(logits.end(), found->begin(), found->end());
  }
  return logits;
}

TEST(Network, LargeBatchesGoThroughInParts) {
  omp_set_num_threads(1);
  const Graph graph = branching_graph();
  const auto backend = make_backend({"onednn", "fp32"});
  const std::vector<float> parameters = initial(graph);
  const Batch whole = draw_batch(4003, 5);
  const Shape shape{whole.count, 3, whole.height, whole.width};
  const auto bytes = network_arena_bytes(graph, **backend, shape, false);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LT(*bytes, *network_arena_bytes(graph, **backend, shape, true) / 2);
  Network network(graph, **backend);
  const auto logits = network.infer(whole, parameters, {});
  ASSERT_TRUE(logits.ok());
  const std::vector<float> ours(logits->begin(), logits->end());
  const std::vector<float> alone = one_by_one(network, whole, parameters);
  ASSERT_EQ(ours.size(), alone.size());
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], alone[i], 1e-4) << i;
}

TEST(Network, FixedParametersGiveTheSameLogitsInEveryShape) {
  const Graph graph = branching_graph();
  const auto backend = make_backend({"onednn", "fp32"});
  const std::vector<float> parameters = initial(graph);
  std::vector<float> others = parameters;
  for (float& value : others) value += 0.5F;
  Network plain(graph, **backend), fixed(graph, **backend), other(graph, **backend);
  fixed.fix_parameters();
  other.fix_parameters();
  for (int round = 0; round < 2; ++round) {
    for (const int count : {1, 5}) {
      const Batch batch = draw_batch(count, 6);
      const auto wanted = plain.infer(batch, parameters, {});
      const auto got = fixed.infer(batch, parameters, {});
      const auto different = other.infer(batch, others, {});
      ASSERT_TRUE(wanted.ok() && got.ok() && different.ok());
      EXPECT_TRUE(std::equal(wanted->begin(), wanted->end(), got->begin(), got->end()));
      EXPECT_FALSE(std::equal(wanted->begin(), wanted->end(), different->begin()));
    }
  }
}

}  // namespace
}  // namespace ocrtune
