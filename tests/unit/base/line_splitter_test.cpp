#include "base/line_splitter.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(LineSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> lines;
  splitter.add(bytes, [&](const std::string& line) { lines.push_back(line); });
  return lines;
}

TEST(LineSplitter, JoinsPiecesAndTakesCarriageReturns) {
  LineSplitter splitter;
  EXPECT_THAT(lines_of(splitter, "one\ntw"), ElementsAre("one"));
  EXPECT_EQ(splitter.open_line(), "tw");
  EXPECT_THAT(lines_of(splitter, "o\r\n\n10%\r20%\r"), ElementsAre("two", "10%", "20%"));
  EXPECT_EQ(splitter.open_line(), "");
}

TEST(LineSplitter, CutsEndlessLines) {
  LineSplitter splitter(8);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(lines_of(splitter, "0123456789").empty());
  EXPECT_EQ(splitter.open_line().size(), 8u);
  EXPECT_THAT(lines_of(splitter, "\nnext\n"), ElementsAre("01234567", "next"));
}

}  // namespace
}  // namespace ocrtune
