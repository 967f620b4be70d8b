#include "cli/help.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

constexpr std::size_t kColumn = 27;       // where the explanations begin
constexpr std::size_t kNarrowColumn = 6;  // on a narrow terminal: below the name
constexpr std::size_t kNarrow = 60;
constexpr int kLeast = 30;

// Words at most `width` columns wide, each line after the first behind `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t used = indent;
  for (const std::string& word : words(text)) {
    if (used > indent && used + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > indent) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

std::string row_text(const std::string& head, const std::string& text, std::size_t width) {
  const std::size_t column = width < kNarrow ? kNarrowColumn : kColumn;
  std::string line = "  " + head;
  if (line.size() + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  return line + wrapped(text, column, width) + "\n";
}

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += "  " + line + "\n";
  return out;
}

std::string options_text(const Flags& flags, std::size_t width) {
  std::vector<std::string> headings = {""};
  for (const Flag& flag : flags.rows()) {
    if (flag.positional || flag.unseen) continue;
    if (std::find(headings.begin(), headings.end(), flag.heading) == headings.end()) {
      headings.push_back(flag.heading);
    }
  }
  std::string text;
  for (const std::string& heading : headings) {
    text += "\n" + (heading.empty() ? "Options" : heading) + ":\n";
    for (const Flag& flag : flags.rows()) {
      if (flag.positional || flag.unseen || flag.heading != heading) continue;
      text += row_text(flag_head(flag), flag_help(flag), width);
    }
    if (heading.empty()) text += row_text("-h, --help", "Print this help", width);
  }
  return text;
}

// Those of Flags::shown_first(), and how to see the others.
std::string first_options_text(const Flags& flags, std::size_t width) {
  std::string text = "\nOptions:\n";
  for (const std::string& name : flags.shown_first()) {
    for (const Flag& flag : flags.rows()) {
      if (flag.name == name) text += row_text(flag_head(flag), flag_help(flag), width);
    }
  }
  return text + row_text("-h, --help", "Print this help", width) +
         row_text("--help-all", "Print every option", width);
}

std::string command_line(const Command& command, std::size_t width) {
  std::string line = fmt::format("  {:<12}", command.name);
  return line + wrapped(command.summary, line.size(), width) + "\n";
}

bool is_group(std::string_view section) {
  return section == kEngineGroup || section == kHostsGroup;
}

// "engine train" where the command belongs to a group.
std::string full_name(const Command& command) {
  return is_group(command.section) ? fmt::format("{} {}", command.section, command.name)
                                   : command.name;
}

std::string group_line(std::string_view group, const char* what, std::size_t width) {
  std::vector<std::string> names;
  for (const Command& command : command_table()) {
    if (group == command.section) names.emplace_back(command.name);
  }
  const std::string line = fmt::format("  {:<12}", group);
  return line + wrapped(fmt::format("{}: {}", what, join(names, ", ")), line.size(), width) + "\n";
}

std::string value_name(const Flag& flag) {
  return flag.choices.empty() || flag.positional ? flag.metavar : join(flag.choices, "|");
}

}  // namespace

std::string flag_head(const Flag& flag) {
  if (flag.positional) return flag.metavar + (flag.repeated ? "..." : "");
  std::string head = flag.letter.empty() ? flag.name : flag.letter + ", " + flag.name;
  if (!flag.alias.empty()) head += ", " + flag.alias;
  if (flag.is_switch()) return head;
  return head + " " + (flag.optional_value ? "[" + value_name(flag) + "]" : value_name(flag));
}

std::string flag_help(const Flag& flag) {
  std::vector<std::string> remarks;
  if (flag.required() && !flag.positional) remarks.emplace_back("required");
  if (flag.positional && !flag.choices.empty()) remarks.push_back(join(flag.choices, ", "));
  if (flag.repeated && !flag.positional) remarks.emplace_back("repeatable");
  if (!flag.topic.empty()) remarks.push_back("see ocrtune list " + flag.topic);
  if (!flag.fallback.empty()) remarks.push_back("default: " + flag.fallback);
  return flag.help + (remarks.empty() ? "" : " (" + join(remarks, "; ") + ")");
}

std::string usage_of(const Command& command, const Flags& flags) {
  std::string usage = "ocrtune " + full_name(command);
  const auto named = [](const Flag& flag) { return !flag.positional && !flag.unseen; };
  if (std::any_of(flags.rows().begin(), flags.rows().end(), named)) usage += " [OPTIONS]";
  for (const Flag& flag : flags.rows()) {
    if (flag.required() && !flag.positional) usage += " " + flag_head(flag);
  }
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) continue;
    const std::string head = flag.name == "command" ? "-- " + flag_head(flag) : flag_head(flag);
    usage += flag.required() ? " " + head : " [" + head + "]";
  }
  return usage;
}

std::string command_help(const Command& command, const Flags& flags, int width, bool all) {
  const auto columns = static_cast<std::size_t>(std::max(width, kLeast));
  all = all || flags.shown_first().empty();
  std::string text = wrapped(command.summary, 0, columns) + "\n\n" +
                     wrapped("Usage: " + usage_of(command, flags), 0, columns) + "\n";
  bool first = true;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) continue;
    if (std::exchange(first, false)) text += "\nArguments:\n";
    text += row_text(flag_head(flag), flag_help(flag), columns);
  }
  text += all ? options_text(flags, columns) : first_options_text(flags, columns);
  text += std::string("\nExamples:\n") + indented(command.examples);
  if (*command.notes != '\0') text += std::string("\n") + command.notes + "\n";
  return text;
}

std::string program_help(int width, bool all) {
  const auto columns = static_cast<std::size_t>(std::max(width, kLeast));
  std::string text =
      wrapped(
          "Finds launch settings for OCR training and inference that are safe and fast on this "
          "machine",
          0, columns) +
      "\n\nUsage: ocrtune COMMAND [OPTIONS] [-- YOUR COMMAND]\n";
  std::string section;
  for (const Command& command : command_table()) {
    const bool rest = std::string_view(command.section) == kRest;
    if (command.hidden() || is_group(command.section) || (rest && !all)) continue;
    if (section != command.section) text += fmt::format("\n{}:\n", command.section);
    section = command.section;
    text += command_line(command, columns);
  }
  text += "\nGroups:\n" + group_line(kEngineGroup, "the built-in OCR engine", columns) +
          group_line(kHostsGroup, "several machines, GPUs side by side", columns);
  text +=
      "\nOptions:\n"
      "  -h, --help     Print this help\n"
      "  -V, --version  Print the versions of ocrtune and its libraries\n"
      "\nocrtune COMMAND --help explains a command";
  return text + (all ? ".\n" : ", ocrtune help --all lists the others.\n");
}

std::string group_help(std::string_view group, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, kLeast));
  std::string text = fmt::format("Usage: ocrtune {} COMMAND [OPTIONS]\n\nCommands:\n", group);
  for (const Command& command : command_table()) {
    if (group == command.section) text += command_line(command, columns);
  }
  return text + fmt::format("\nocrtune {} COMMAND --help explains a command.\n", group);
}

std::string version_text() {
  std::string text;
  for (const auto& [part, version] : program_versions()) {
    text +=
        text.empty() ? part + " " + version + "\n" : fmt::format("  {:<14} {}\n", part, version);
  }
  text += "This build:\n";
  for (const Feature& feature : program_features()) {
    text +=
        fmt::format("  {:<14} {:<4} {}\n", feature.name, feature.here ? "yes" : "no", feature.help);
  }
  return text;
}

}  // namespace ocrtune
