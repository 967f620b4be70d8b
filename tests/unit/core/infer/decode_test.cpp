#include "core/infer/decode.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Logits [steps, 1, 4] whose best class at each step is the digit.
std::vector<float> path(const std::string& best) {
  std::vector<float> logits;
  for (char digit : best) {
    for (char k = '0'; k < '4'; ++k) logits.push_back(k == digit ? 5.0F : 0.0F);
  }
  return logits;
}

std::vector<int> read(const std::string& best) {
  return greedy_decode(path(best), static_cast<int>(best.size()), 1, 4)[0].classes;
}

int distance(const std::string& a, const std::string& b) {
  return edit_distance(std::vector<int>(a.begin(), a.end()), std::vector<int>(b.begin(), b.end()));
}

TEST(GreedyDecode, MergesRepeatsAndDropsBlanks) {
  EXPECT_EQ(read("0110220"), (std::vector<int>{1, 2}));
  EXPECT_EQ(read("11011"), (std::vector<int>{1, 1}));
  EXPECT_EQ(read("123"), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(read("0000"), (std::vector<int>{}));
  EXPECT_EQ(read("3"), (std::vector<int>{3}));
}

TEST(GreedyDecode, ReadsEachLineOfABatch) {
  // [T = 2, N = 3, K = 2]: line 0 reads nothing, line 1 one character, line 2 one merged.
  const std::vector<float> logits = {1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1};
  const auto lines = greedy_decode(logits, 2, 3, 2);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].classes.empty());
  EXPECT_EQ(lines[1].classes, std::vector<int>{1});
  EXPECT_EQ(lines[2].classes, std::vector<int>{1});
}

TEST(GreedyDecode, ConfidenceIsTheMeanProbability) {
  const auto line = greedy_decode(path("0110"), 4, 1, 4)[0];
  EXPECT_NEAR(line.confidence, std::exp(5.0) / (std::exp(5.0) + 3), 1e-6);
  EXPECT_EQ(greedy_decode(path("00"), 2, 1, 4)[0].confidence, 0);
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(distance("", ""), 0);
  EXPECT_EQ(distance("abc", ""), 3);
  EXPECT_EQ(distance("", "ab"), 2);
  EXPECT_EQ(distance("kitten", "sitting"), 3);
  EXPECT_EQ(distance("abcd", "bcde"), 2);
  EXPECT_EQ(distance("flaw", "lawn"), 2);
}

TEST(LabelErrors, SumsOverLines) {
  LabelErrors errors;
  EXPECT_EQ(errors.rate(), 0);
  errors.add(std::vector<int>{1, 2, 3}, std::vector<int>{1, 2, 3});
  errors.add(std::vector<int>{1}, std::vector<int>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(errors.rate(), 4.0 / 8.0);
  EXPECT_EQ(errors.exact_lines, 1);
  EXPECT_EQ(errors.lines, 2);
  LabelErrors empty;
  empty.add(std::vector<int>{1, 2}, std::vector<int>{});
  EXPECT_DOUBLE_EQ(empty.rate(), 2);
}

}  // namespace
}  // namespace ocrtune
