#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorKind::usage, "odd"};
  return number / 2;
}

Status even(int number) {
  OCRTUNE_TRY(half(number));
  return Status();
}

Result<std::unique_ptr<int>> quarter(int number) {
  const int first = OCRTUNE_TRY(half(number));
  OCRTUNE_TRY(even(first));
  return std::make_unique<int>(OCRTUNE_TRY(half(first)));
}

TEST(Result, TryHandsValuesAndErrorsOn) {
  EXPECT_TRUE(even(2));
  EXPECT_EQ(even(3).error().what, "odd");
  EXPECT_EQ(**quarter(12), 3);
  EXPECT_EQ(quarter(6).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ocrtune
