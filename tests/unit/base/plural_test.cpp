#include "base/plural.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(HowMany, OneThingIsNoPlural) {
  EXPECT_EQ(how_many(1, "thread"), "1 thread");
  EXPECT_EQ(how_many(0, "usable line"), "0 usable lines");
  EXPECT_EQ(how_many(12345, "image"), "12345 images");
}

TEST(HowMany, HissingNounsTakeASyllable) {
  EXPECT_EQ(how_many(2, "process"), "2 processes");
  EXPECT_EQ(how_many(1, "class"), "1 class");
  EXPECT_EQ(how_many(3, "batch"), "3 batches");
}

TEST(NounAfter, OnlyWholeOneIsSingular) {
  EXPECT_EQ(noun_after(1, "CPU"), "CPU");
  EXPECT_EQ(noun_after(0.5, "CPU"), "CPUs");
  EXPECT_EQ(noun_after(1.5, "CPU"), "CPUs");
}

}  // namespace
}  // namespace ocrtune
