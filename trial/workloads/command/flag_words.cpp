// Flags are found as words, without a grammar of the program: the first spelling that stands there
// is used. Words are compared by their last part, so that a path to a program is that program.
#include "trial/workloads/command/flag_words.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::vector<std::string> spellings(const std::string& flag) { return split(flag, '|'); }

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), base_name(word)) != words.end();
}

bool has_one_of(const std::vector<std::string>& command, const std::vector<std::string>& words) {
  return std::any_of(command.begin(), command.end(),
                     [&](const std::string& word) { return is_one_of(word, words); });
}

}  // namespace

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
  return first_flag_value(command, spellings(flag));
}

std::size_t place_behind(const std::vector<std::string>& command,
                         const std::vector<std::string>& behind) {
  const auto at = std::find_if(command.begin(), command.end(),
                               [&](const std::string& word) { return is_one_of(word, behind); });
  return static_cast<std::size_t>(at - command.begin()) + (at == command.end() ? 0 : 1);
}

bool has_place(const std::vector<std::string>& command, const std::vector<std::string>& behind) {
  return behind.empty() || starts_with(behind.front(), "-") || has_one_of(command, behind);
}

void put_behind(std::vector<std::string>& command, const std::string& word,
                const std::vector<std::string>& behind) {
  command.insert(command.begin() + static_cast<std::ptrdiff_t>(place_behind(command, behind)),
                 word);
}

void set_flag(std::vector<std::string>& command, const std::string& flag, const std::string& value,
              const std::vector<std::string>& behind) {
  const std::vector<std::string> names = spellings(flag);
  // A switch stands once or not at all.
  if (value.empty()) {
    if (!has_one_of(command, names)) put_behind(command, names.front(), behind);
    return;
  }
  for (std::size_t i = 0; i < command.size(); ++i) {
    for (const std::string& name : names) {
      if (command[i] == name && i + 1 < command.size()) {
        command[i + 1] = value;
        return;
      }
      if (starts_with(command[i], name + "=")) {
        command[i] = name + "=" + value;
        return;
      }
    }
  }
  const std::string& name = names.front();
  const bool key = !starts_with(name, "-");
  const bool option = !behind.empty() && starts_with(behind.front(), "-");
  // A key needs the -o that it belongs to.
  if (key && option && !has_one_of(command, behind)) command.push_back(behind.front());
  // Long flags and keys are one word; a short flag takes its value as the next word.
  if (key || starts_with(name, "--")) {
    put_behind(command, name + "=" + value, behind);
  } else {
    const auto at = static_cast<std::ptrdiff_t>(place_behind(command, behind));
    command.insert(command.begin() + at, {name, value});
  }
}

}  // namespace ocrtune
