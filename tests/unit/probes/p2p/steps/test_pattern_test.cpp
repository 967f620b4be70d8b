// Every way in which bytes go wrong is told from the others, with its place.
#include "probes/p2p/steps/test_pattern.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint32_t> pattern(std::uint32_t seed, std::uint32_t source, std::size_t words) {
  std::vector<std::uint32_t> out(words);
  for (std::size_t i = 0; i < words; ++i) out[i] = pattern_word(seed, source, i);
  return out;
}

PatternErrors check(const std::vector<std::uint32_t>& words, std::uint64_t first = 0) {
  PatternErrors errors;
  check_pattern(words, first, {10, 0}, 1, errors);
  return errors;
}

TEST(TestPattern, RightDataPassesInAnyChunks) {
  const auto words = pattern(10, 0, 5000);
  PatternErrors errors;
  check_pattern({words.data(), 1234}, 0, {10, 0}, 1, errors);
  check_pattern({words.data() + 1234, 5000 - 1234}, 1234, {10, 0}, 1, errors);
  EXPECT_EQ(errors.bad, 0U);
  EXPECT_EQ(errors.words, 5000U);
  EXPECT_EQ(errors.text(), "");
}

TEST(TestPattern, KindsOfWrongData) {
  auto zeros = pattern(10, 0, 4096);
  zeros[1024] = zeros[1025] = 0;
  EXPECT_THAT(check(zeros).text(),
              HasSubstr("first bad byte at 4096 (a multiple of 4 KiB), zeros; 2 of 4096"));
  EXPECT_THAT(check(std::vector<std::uint32_t>(8, kCanaryWord)).text(), HasSubstr("canary"));
  EXPECT_THAT(check(pattern(9, 0, 16)).text(), HasSubstr("stale"));
  EXPECT_THAT(check(pattern(7, 0, 16)).text(), HasSubstr("stale"));
  EXPECT_THAT(check(pattern(10, 1, 16)).text(), HasSubstr("mirror"));
  const auto moved = pattern(10, 0, 4096);
  EXPECT_THAT(check({moved.begin() + 1024, moved.end()}).text(), HasSubstr("shifted by 4 KiB"));
  EXPECT_THAT(check({1, 2, 3}).text(), HasSubstr("other"));
}

TEST(TestPattern, WordsDifferWhereTheyMust) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint32_t word = pattern_word(5, 0, i);
    EXPECT_NE(word, 0U);
    EXPECT_NE(word, kCanaryWord);
    EXPECT_NE(word, pattern_word(6, 0, i));
    EXPECT_NE(word, pattern_word(5, 1, i));
    EXPECT_NE(word, pattern_word(5, 0, i + 1));
  }
}

}  // namespace
}  // namespace ocrtune
