#include "base/tables/rows.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Rows, AreLinesWithoutRemarks) {
  EXPECT_THAT(rows_of("\n# colours\nred 1 of roses\n\nblue 2 of the sky\n"),
              testing::ElementsAre("red 1 of roses", "blue 2 of the sky"));
}

TEST(Rows, GiveColumnsAndKeepTheRest) {
  std::string_view row = "red 1 of roses";
  EXPECT_EQ(take_column(row), "red");
  EXPECT_EQ(take_column(row), "1");
  EXPECT_EQ(row, "of roses");
}

TEST(Rows, LastingTextOutlivesItsSource) {
  const char* kept = nullptr;
  {
    std::string source = "of roses";
    kept = lasting(source);
    source.assign(8, 'x');
  }
  EXPECT_STREQ(kept, "of roses");
}

}  // namespace
}  // namespace ocrtune
