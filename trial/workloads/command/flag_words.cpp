#include "trial/workloads/command/flag_words.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {

std::optional<std::string> flag_value(const std::vector<std::string>& command,
                                      const std::string& flag) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size()) return command[i + 1];
    if (starts_with(command[i], flag + "=")) return command[i].substr(flag.size() + 1);
  }
  return std::nullopt;
}

namespace {

auto place_behind(std::vector<std::string>& command, const std::vector<std::string>& behind) {
  auto at = std::find_if(command.begin(), command.end(), [&](const std::string& word) {
    const std::string name = word.substr(word.rfind('/') + 1);
    return std::find(behind.begin(), behind.end(), name) != behind.end();
  });
  return at == command.end() ? at : at + 1;
}

}  // namespace

void put_behind(std::vector<std::string>& command, const std::string& word,
                const std::vector<std::string>& behind) {
  command.insert(place_behind(command, behind), word);
}

void set_flag(std::vector<std::string>& command, const std::string& flag, const std::string& value,
              const std::vector<std::string>& behind) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size()) {
      command[i + 1] = value;
      return;
    }
    if (starts_with(command[i], flag + "=")) {
      command[i] = flag + "=" + value;
      return;
    }
  }
  const auto at = place_behind(command, behind);
  if (starts_with(flag, "--")) {
    command.insert(at, flag + "=" + value);
  } else {
    command.insert(at, {flag, value});
  }
}

}  // namespace ocrtune
