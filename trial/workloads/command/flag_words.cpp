#include "trial/workloads/command/flag_words.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {

std::optional<std::string> first_flag_value(const std::vector<std::string>& command,
                                            const std::vector<std::string>& flags) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    for (const std::string& flag : flags) {
      if (command[i] == flag && i + 1 < command.size()) return command[i + 1];
      if (starts_with(command[i], flag + "=")) return command[i].substr(flag.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> flag_value(const std::vector<std::string>& command,
                                      const std::string& flag) {
  return first_flag_value(command, {flag});
}

std::size_t place_behind(const std::vector<std::string>& command,
                         const std::vector<std::string>& behind) {
  const auto at = std::find_if(command.begin(), command.end(), [&](const std::string& word) {
    const std::string name = word.substr(word.rfind('/') + 1);
    return std::find(behind.begin(), behind.end(), name) != behind.end();
  });
  return static_cast<std::size_t>(at - command.begin()) + (at == command.end() ? 0 : 1);
}

void put_behind(std::vector<std::string>& command, const std::string& word,
                const std::vector<std::string>& behind) {
  command.insert(command.begin() + static_cast<std::ptrdiff_t>(place_behind(command, behind)),
                 word);
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
  if (starts_with(flag, "--")) {
    put_behind(command, flag + "=" + value, behind);
  } else {
    const auto at = static_cast<std::ptrdiff_t>(place_behind(command, behind));
    command.insert(command.begin() + at, {flag, value});
  }
}

}  // namespace ocrtune
