// The commands of the extras among those of the kernel.
#include "cli/extras.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::vector<ExtraCommand> extra_commands() {
  std::vector<ExtraCommand> all;
  for (const Extra& extra : extras()) {
    all.insert(all.end(), extra.commands.begin(), extra.commands.end());
  }
  return all;
}

TEST(Extras, CommandsStandBeforeTheirNeighbours) {
  const auto& table = command_table();
  for (const ExtraCommand& extra : extra_commands()) {
    const auto at = std::ranges::find(table, std::string_view(extra.row.name), &Command::name);
    const auto next = std::ranges::find(table, std::string_view(extra.before), &Command::name);
    ASSERT_NE(next, table.end()) << extra.before;
    EXPECT_EQ(at + 1, next) << extra.row.name;
  }
}

// cmake/extras.cmake names them too: a build that lacks an extra says whose command was asked for.
TEST(Extras, CommandsAreThoseThatTheBuildNames) {
  std::set<std::string> here, named;
  for (const ExtraCommand& extra : extra_commands()) here.insert(extra.row.name);
  for (const MissingCommand& missing : missing_commands()) {
    EXPECT_EQ(find_command(missing.name), nullptr) << missing.name;
    here.emplace(missing.name);
  }
  const std::string build = read_file(OCRTUNE_SOURCE_DIR + "/cmake/extras.cmake").value_or("");
  const std::string head = "\nadd_extra(", commands = "COMMANDS ";
  for (std::size_t at = build.find(head); at != std::string::npos; at = build.find(head, at + 1)) {
    const std::size_t begin = build.find(commands, at) + commands.size();
    for (const std::string& name : words(build.substr(begin, build.find(')', at) - begin))) {
      if (std::isupper(name[0]) != 0) break;  // NEEDS, LIBRARIES
      named.insert(name);
    }
  }
  EXPECT_FALSE(named.empty());
  EXPECT_EQ(here, named);
}

}  // namespace
}  // namespace ocrtune
