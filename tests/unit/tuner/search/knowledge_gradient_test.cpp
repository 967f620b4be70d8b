#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tuner/search/acquisition.h"

namespace ocrtune {
namespace {

double by_drawing(const std::vector<double>& means, const std::vector<double>& slopes) {
  Random random(3);
  double sum = 0;
  constexpr int kDraws = 200000;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double z = random.normal();
    double most = -1e9;
    for (std::size_t i = 0; i < means.size(); ++i) most = std::max(most, means[i] + slopes[i] * z);
    sum += most;
  }
  return sum / kDraws - *std::max_element(means.begin(), means.end());
}

TEST(KnowledgeGradient, AgreesWithDrawing) {
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> cases = {
      {{0, 0}, {0, 1}},
      {{1, 0.5, 0.9}, {0.1, 2, -0.3}},
      {{0, -1, -2, 0.3}, {0.2, 1, 3, 0.2}},
      {{0.1, 0.1, 0.1}, {-1, 0, 1}},
  };
  for (const auto& [means, slopes] : cases) {
    EXPECT_NEAR(knowledge_gradient(means, slopes), by_drawing(means, slopes), 0.01);
  }
}

TEST(KnowledgeGradient, NothingToLearnIsWorthNothing) {
  EXPECT_EQ(knowledge_gradient({}, {}), 0);
  EXPECT_EQ(knowledge_gradient({1.0}, {0.5}), 0);
  EXPECT_EQ(knowledge_gradient({1, 0}, {0.5, 0.5}), 0) << "both move together";
  EXPECT_LT(knowledge_gradient({1, 0}, {0, 0.1}), 1e-9) << "far behind and nearly known";
}

TEST(KnowledgeGradient, ALineBelowTheOthersChangesNothing) {
  const double without = knowledge_gradient({0, 0}, {-1, 1});
  EXPECT_NEAR(knowledge_gradient({0, -1, 0}, {-1, 0, 1}), without, 1e-12);
  EXPECT_GT(knowledge_gradient({0, 0.5, 0}, {-1, 0, 1}), 0);
  EXPECT_LT(knowledge_gradient({0, 0.5, 0}, {-1, 0, 1}), without);
}

}  // namespace
}  // namespace ocrtune
