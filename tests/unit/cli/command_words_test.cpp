#include "cli/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

TEST(CommandWords, GroupsLeadToTheirOwnCommandsAlone) {
  EXPECT_THAT(meant_words({"engine", "train", "lines"}), ElementsAre("train", "lines"));
  EXPECT_THAT(meant_words({"hosts", "p2p", "--json"}), ElementsAre("p2p", "--json"));
  EXPECT_THAT(meant_words({"engine", "check"}), ElementsAre("engine", "check"));
  EXPECT_THAT(meant_words({"engine"}), ElementsAre("engine"));
  EXPECT_THAT(meant_words({"tune", "engine"}), ElementsAre("tune", "engine"));
}

TEST(CommandWords, NamesOfOtherToolsAreUnderstood) {
  EXPECT_THAT(meant_words({"ls"}), ElementsAre("runs"));
  EXPECT_THAT(meant_words({"diff", "A", "B"}), ElementsAre("runs", "compare", "A", "B"));
  EXPECT_THAT(meant_words({"version"}), ElementsAre("--version"));
  for (const char* word : {"ls", "status", "diff", "compare"}) {
    EXPECT_EQ(find_command(word), nullptr) << "a command of that name comes first";
    EXPECT_NE(find_command(meant_words({word})[0]), nullptr);
  }
}

}  // namespace
}  // namespace ocrtune
