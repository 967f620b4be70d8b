// The keys are looked up among the declared flags, so a new flag is a new key by itself. Values
// become the words that would be typed and go through the same checks as those of a command line.
#include "cli/settings_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/toml_text.h"

namespace ocrtune {
namespace {

// As the value would be typed on a command line; nothing for what no flag can take.
std::optional<std::string> typed(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return text;
  if (const auto whole = node.value_exact<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

const Flag* flag_of(const Flags& flags, const std::string& key) {
  for (const Flag& flag : flags.rows()) {
    // --resume names a run of the past, which is no setting.
    if (!flag.optional_value && flag.is_called(flag.positional ? key : "--" + key)) return &flag;
  }
  return nullptr;
}

Error no_key(const Flags& flags, const std::string& key, const std::string& place) {
  std::vector<std::string> names;
  for (const Flag& flag : flags.rows()) {
    if (!flag.optional_value) names.push_back(flag.positional ? flag.name : flag.name.substr(2));
  }
  std::string wanted = key;
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  const std::string near = nearest_name(lower(wanted), names);
  return {ErrorKind::usage, near.empty()
                                ? place +
                                      "no such key; the keys are the flags of ocrtune tune --help "
                                      "without their dashes"
                                : place + "no such key; did you mean " + near + "?"};
}

Result<FileSetting> setting_of(const Flag& flag, const toml::node& node, const std::string& place) {
  FileSetting setting{flag.name, place, {}, false};
  const auto wrong = [&place](const std::string& what) {
    return Error{ErrorKind::usage, place + what};
  };
  if (flag.is_switch()) {
    const auto on = node.value_exact<bool>();
    if (!on) return wrong("needs true or false");
    setting.values = {*on ? "true" : "false"};
    setting.is_switch = true;
    return setting;
  }
  const auto one = typed(node);
  if (one && !flag.positional) {
    setting.values = {*one};
    return setting;
  }
  if (one) {
    // The launch command as one text is split as a shell splits it, without running one.
    auto words = split_command(*one);
    if (!words) return wrong(words.error().what);
    setting.values = *std::move(words);
    return setting;
  }
  const toml::array* list = node.as_array();
  if (list == nullptr) return wrong("needs a text in quotes, a number, or a list of these");
  for (const toml::node& each : *list) {
    const auto value = typed(each);
    if (!value) return wrong("needs a list of texts in quotes or of numbers");
    setting.values.push_back(*value);
  }
  if (setting.values.empty()) return wrong("an empty list; leave the line out");
  // A list of a knob: "--nproc" takes its values in one word.
  if (!flag.repeated) setting.values = {join(setting.values, ",")};
  return setting;
}

}  // namespace

Result<std::vector<FileSetting>> parse_settings(const Flags& flags, const std::string& text,
                                                const std::string& path) {
  const auto table = parse_toml(text, path);
  if (!table) return Error{ErrorKind::usage, table.error().what};
  std::vector<FileSetting> settings;
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    const std::string place = fmt::format("{}:{}: {}: ", path, key.source().begin.line, name);
    const Flag* flag = flag_of(flags, name);
    if (flag == nullptr) return no_key(flags, name, place);
    settings.push_back(OCRTUNE_TRY(setting_of(*flag, node, place)));
  }
  return settings;
}

Result<std::vector<FileSetting>> read_settings(const Flags& flags, const std::string& path) {
  if (!path_exists(path)) return std::vector<FileSetting>();
  const auto text = OCRTUNE_TRY(read_file(path, 1 << 20));
  return parse_settings(flags, text, path);
}

std::vector<std::string> words_with_settings(const std::vector<std::string>& words,
                                             const std::vector<FileSetting>& settings) {
  // Program and command; what the settings say stands in front of what was typed.
  const auto typed_from =
      words.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, words.size()));
  std::vector<std::string> all(words.begin(), typed_from), command;
  for (const FileSetting& setting : settings) {
    if (!starts_with(setting.flag, "--")) {
      command = setting.values;
      continue;
    }
    for (const std::string& value : setting.values) {
      if (setting.is_switch && value == "false") continue;
      all.push_back(setting.flag);
      if (!setting.is_switch) all.push_back(value);
    }
  }
  all.insert(all.end(), typed_from, words.end());
  if (!command.empty()) all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

}  // namespace ocrtune
