#include "core/optimizer.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(AdamW, FollowsThePaper) {
  GraphBuilder net("test", 30);
  const Graph graph = net.finish(net.linear("linear", 0, Linear{700, true}));
  const std::size_t floats = graph.parameter_floats;
  std::vector<float> parameters(floats, 0.5F), first(floats), second(floats), gradients(floats);
  AdamW settings;
  settings.learning_rate = 0.01;
  settings.weight_decay = 0.1;
  AdamWState state{first, second, 0};
  double m = 0, v = 0, weight = 0.5, bias = 0.5;
  for (int step = 1; step <= 5; ++step) {
    const double g = 0.3 * step - 1;
    std::fill(gradients.begin(), gradients.end(), static_cast<float>(g));
    update_parameters(settings, graph, gradients, state, parameters);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double move = 0.01 * (m / (1 - std::pow(0.9, step))) /
                        (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
    weight = weight * (1 - 0.01 * 0.1) - move;
    bias -= move;  // biases do not decay
    const Parameter& weights = graph.parameters[0];
    EXPECT_NEAR(parameters[weights.offset], weight, 1e-6);
    EXPECT_NEAR(parameters[weights.offset + weights.count - 1], weight, 1e-6);
    EXPECT_NEAR(parameters[graph.parameters[1].offset + 699], bias, 1e-6);
  }
  EXPECT_EQ(state.steps, 5);
}

}  // namespace
}  // namespace ocrtune
