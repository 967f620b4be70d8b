#include "core/graph/optimizer.h"

#include <omp.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

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

// Two layers, so that the norm is of all parameters together; padding between them does not count.
TEST(AdamW, ClipsTheNormOfAllGradientsTogether) {
  GraphBuilder net("test", 3);
  const int hidden = net.linear("first", 0, Linear{5, true});
  const Graph graph = net.finish(net.linear("second", hidden, Linear{2, true}));
  std::vector<float> gradients(graph.parameter_floats, 1e6F);  // what is padding stays so
  double squares = 0;
  for (const Parameter& parameter : graph.parameters) {
    for (std::size_t i = 0; i < parameter.count; ++i) {
      const float g = 0.1F * static_cast<float>(i + 1);
      gradients[parameter.offset + i] = g;
      squares += static_cast<double>(g) * g;
    }
  }
  const double norm = std::sqrt(squares);
  EXPECT_NEAR(gradient_norm(graph, gradients), norm, 1e-6);

  const auto first_moments = [&](double clip_norm) {
    std::vector<float> parameters(gradients.size()), first(gradients.size()), second(first);
    AdamW settings;
    settings.clip_norm = clip_norm;
    AdamWState state{first, second, 0};
    update_parameters(settings, graph, gradients, state, parameters);
    return first;
  };
  const std::vector<float> free = first_moments(0);
  EXPECT_EQ(first_moments(1.01 * norm), free) << "below the limit nothing changes";
  const std::vector<float> clipped = first_moments(norm / 4);
  for (const Parameter& parameter : graph.parameters) {
    for (std::size_t i = 0; i < parameter.count; ++i) {
      EXPECT_NEAR(clipped[parameter.offset + i], free[parameter.offset + i] / 4, 1e-6);
    }
  }
}

TEST(AdamW, NormIsTheSameForAnyTeam) {
  GraphBuilder net("test", 300);
  const Graph graph = net.finish(net.linear("linear", 0, Linear{700, true}));
  std::vector<float> gradients(graph.parameter_floats);
  Random random(3);
  for (float& g : gradients) g = static_cast<float>(random.uniform(-1, 1));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const double alone = gradient_norm(graph, gradients);
  omp_set_num_threads(3);
  EXPECT_EQ(gradient_norm(graph, gradients), alone);
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace ocrtune
