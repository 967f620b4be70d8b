// Nothing is run here, and the rest of the command line is left as it is. main() asks before it
// looks for the command.
#include "cli/command_words.h"

#include <string_view>

#include "cli/commands.h"

namespace ocrtune {
namespace {

struct OtherName {
  std::string_view name;
  std::vector<std::string> meant;
};

const std::vector<OtherName>& other_names() {
  static const std::vector<OtherName> kNames = {
      {"ls", {"runs"}},
      {"status", {"runs"}},
      {"diff", {"runs", "compare"}},
      {"compare", {"runs", "compare"}},
      {"version", {"--version"}},
  };
  return kNames;
}

}  // namespace

std::vector<std::string> meant_words(std::vector<std::string> words) {
  if (words.empty()) return words;
  for (const OtherName& other : other_names()) {
    if (words[0] != other.name) continue;
    words.erase(words.begin());
    words.insert(words.begin(), other.meant.begin(), other.meant.end());
    return words;
  }
  const Command* member = words.size() > 1 ? find_command(words[1]) : nullptr;
  // A member alone is taken off its group: "engine" before a command of another group is a mistake
  // that main() names.
  const bool group = words[0] == kEngineGroup || words[0] == kHostsGroup;
  if (group && member != nullptr && words[0] == member->section) words.erase(words.begin());
  return words;
}

}  // namespace ocrtune
