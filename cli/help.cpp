// Help is composed in English and each phrase looked up in the catalogue, so both languages come
// from one declaration. Widths count columns, which Chinese characters take two of.
#include "cli/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/console/label_lines.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

constexpr std::size_t kColumn = 27;       // where the explanations begin
constexpr std::size_t kNarrowColumn = 6;  // on a narrow terminal: below the name
constexpr int kNarrow = 60;
constexpr int kLeast = 30;

std::vector<Bilingual> flag_remarks(const Flag& flag) {
  std::vector<Bilingual> remarks;
  if (flag.required() && !flag.positional) remarks.push_back(phrase("required"));
  if (flag.positional && !flag.choices.empty()) remarks.emplace_back(join(flag.choices, ", "));
  if (flag.repeated && !flag.positional) remarks.push_back(phrase("repeatable"));
  if (!flag.topic.empty()) remarks.push_back(phrase("see ocrtune list {}", {flag.topic}));
  if (!flag.fallback.empty())
    remarks.push_back(phrase("default: {}", {Bilingual(flag.fallback, chinese_of(flag.fallback))}));
  return remarks;
}

std::string with_remarks(const std::string& help, const std::vector<std::string>& remarks) {
  return help + (remarks.empty() ? "" : " (" + join(remarks, "; ") + ")");
}

// Phrases of the catalogue are said in its language; others stay as they are.
class Words {
 public:
  Words(int width, Language language) : width_(std::max(width, kLeast)), language_(language) {}

  std::string say(std::string_view english) const { return said(english, language_); }
  std::string say(std::string_view english, const std::vector<Bilingual>& arguments) const {
    return in(phrase(english, arguments), language_);
  }
  // At most as wide as the terminal, each line after the first behind `indent` blanks.
  std::string wrapped(const std::string& text, std::size_t indent) const {
    const auto lines = broken_lines(join(words(text), " "), width_ - static_cast<int>(indent));
    return join(lines, "\n" + std::string(indent, ' '));
  }
  std::string row(const std::string& head, const std::string& text) const {
    const std::size_t column = width_ < kNarrow ? kNarrowColumn : kColumn;
    std::string line = "  " + head;
    if (line.size() + 2 > column) {
      line += "\n" + std::string(column, ' ');
    } else {
      line.resize(column, ' ');
    }
    return line + wrapped(text, column) + "\n";
  }
  std::string row_of(const Flag& flag) const {
    std::vector<std::string> remarks;
    for (const Bilingual& remark : flag_remarks(flag)) remarks.push_back(in(remark, language_));
    return row(flag_head(flag), with_remarks(say(flag.help), remarks));
  }

 private:
  int width_;
  Language language_;
};

std::string indented(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += "  " + line + "\n";
  return out;
}

std::string options_text(const Flags& flags, const Words& words) {
  // Headings in the order in which they first occur: the declaration decides it.
  std::vector<std::string> headings = {""};
  for (const Flag& flag : flags.rows()) {
    if (flag.positional || flag.unseen) continue;
    if (std::find(headings.begin(), headings.end(), flag.heading) == headings.end()) {
      headings.push_back(flag.heading);
    }
  }
  std::string text;
  for (const std::string& heading : headings) {
    text += "\n" + words.say(heading.empty() ? "Options" : heading) + ":\n";
    for (const Flag& flag : flags.rows()) {
      if (flag.positional || flag.unseen || flag.heading != heading) continue;
      text += words.row_of(flag);
    }
    if (heading.empty()) text += words.row("-h, --help", words.say("Print this help"));
  }
  return text;
}

// Those of Flags::shown_first(), and how to see the others.
std::string first_options_text(const Flags& flags, const Words& words) {
  std::string text = "\n" + words.say("Options") + ":\n";
  for (const std::string& name : flags.shown_first()) {
    for (const Flag& flag : flags.rows()) {
      if (flag.name == name) text += words.row_of(flag);
    }
  }
  return text + words.row("-h, --help", words.say("Print this help")) +
         words.row("--help-all", words.say("Print every option"));
}

std::string command_line(const Command& command, const Words& words) {
  std::string line = fmt::format("  {:<12}", command.name);
  return line + words.wrapped(words.say(command.summary), line.size()) + "\n";
}

bool is_group(std::string_view section) {
  return section == kEngineGroup || section == kHostsGroup;
}

// "engine train" where the command belongs to a group.
std::string full_name(const Command& command) {
  return is_group(command.section) ? fmt::format("{} {}", command.section, command.name)
                                   : command.name;
}

std::string group_line(const CommandGroup& group, const Words& words) {
  std::vector<std::string> names;
  for (const Command* member : members_of(group)) names.emplace_back(member->name);
  const std::string line = fmt::format("  {:<12}", group.name);
  const std::string text = fmt::format("{}: {}", words.say(group.summary), join(names, ", "));
  return line + words.wrapped(text, line.size()) + "\n";
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
  for (const Bilingual& remark : flag_remarks(flag)) remarks.push_back(remark.english);
  return with_remarks(flag.help, remarks);
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
    // As it has to be typed: behind "--".
    const std::string head = flag.name == "command" ? "-- " + flag_head(flag) : flag_head(flag);
    usage += flag.required() ? " " + head : " [" + head + "]";
  }
  return usage;
}

std::string command_help(const Command& command, const Flags& flags, int width, bool all,
                         Language language) {
  const Words words(width, language);
  all = all || flags.shown_first().empty();
  std::string text = words.wrapped(words.say(command.summary), 0) + "\n\n" +
                     words.wrapped(words.say("Usage: {}", {usage_of(command, flags)}), 0) + "\n";
  bool first = true;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) continue;
    if (std::exchange(first, false)) text += "\n" + words.say("Arguments") + ":\n";
    text += words.row_of(flag);
  }
  text += all ? options_text(flags, words) : first_options_text(flags, words);
  text += "\n" + words.say("Examples") + ":\n" + indented(command.examples);
  if (*command.notes != '\0') {
    text += "\n";
    for (const std::string& line : split(words.say(command.notes), '\n')) {
      text += words.wrapped(line, 0) + "\n";
    }
  }
  return text;
}

std::string program_help(int width, bool all, Language language) {
  const Words words(width, language);
  std::string text =
      words.wrapped(words.say("Finds launch settings for OCR training and inference that are safe "
                              "and fast on this machine"),
                    0) +
      "\n\n" +
      words.wrapped(
          words.say("Usage: {}", {std::string("ocrtune COMMAND [OPTIONS] [-- YOUR COMMAND]")}), 0) +
      "\n";
  std::string section;
  for (const Command& command : command_table()) {
    const bool rest = std::string_view(command.section) == kRest;
    if (command.hidden() || is_group(command.section) || (rest && !all)) continue;
    if (section != command.section) text += fmt::format("\n{}:\n", words.say(command.section));
    section = command.section;
    text += command_line(command, words);
  }
  text += "\n" + words.say("Groups") + ":\n";
  for (const CommandGroup& group : kGroups) text += group_line(group, words);
  text += "\n" + words.say("Options") + ":\n  -h, --help     " + words.say("Print this help") +
          "\n  -V, --version  " + words.say("Print the versions of ocrtune and its libraries") +
          "\n\n";
  return text +
         words.wrapped(words.say(all ? "ocrtune COMMAND --help explains a command."
                                     : "ocrtune COMMAND --help explains a command, ocrtune help "
                                       "--all lists the others."),
                       0) +
         "\n";
}

std::string group_help(std::string_view group, int width, Language language) {
  const Words words(width, language);
  std::string text = words.say("Usage: {}", {fmt::format("ocrtune {} COMMAND [OPTIONS]", group)}) +
                     "\n\n" + words.say("Commands") + ":\n";
  for (const Command& command : command_table()) {
    if (group == command.section) text += command_line(command, words);
  }
  return text + "\n" +
         words.say("ocrtune {} COMMAND --help explains a command.", {std::string(group)}) + "\n";
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
