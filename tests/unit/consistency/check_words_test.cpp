#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_words.h"

namespace ocrtune {
namespace {

TEST(CheckWords, TheCommandIsOneOfTheHosts) {
  EXPECT_THAT(meant_words({"hosts", "check", "a.yml"}), ::testing::ElementsAre("check", "a.yml"));
}

}  // namespace
}  // namespace ocrtune
