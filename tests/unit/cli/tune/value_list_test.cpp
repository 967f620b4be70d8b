#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tune/tune_flags.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ValueList, ListsAndRanges) {
  EXPECT_THAT(*read_value_list("--nproc", "1,2,4", true), ElementsAre("1", "2", "4"));
  EXPECT_THAT(*read_value_list("--nproc", "1-3,8", true), ElementsAre("1", "2", "3", "8"));
  EXPECT_THAT(*read_value_list("--precision", "fp32,bf16", false), ElementsAre("fp32", "bf16"));
  EXPECT_THAT(*read_value_list("--dim", "2024-01", false), ElementsAre("2024-01"));
}

TEST(ValueList, MistakesNameTheListAsTyped) {
  const auto mistake = [](const char* text) {
    const auto values = read_value_list("--nproc", text, true);
    return values ? "none" : values.error().what;
  };
  EXPECT_THAT(mistake("1,,2"), HasSubstr("--nproc '1,,2': an empty value"));
  EXPECT_THAT(mistake("1,"), HasSubstr("--nproc '1,': an empty value"));
  EXPECT_THAT(mistake("4-1"), HasSubstr("the range falls"));
  EXPECT_THAT(mistake("1-1000"), HasSubstr("such as 1,2,4,8"));
  EXPECT_EQ(mistake("1-64"), "none");
  EXPECT_EQ(mistake("-3"), "none") << "the knob's own limits refuse it";
}

}  // namespace
}  // namespace ocrtune
