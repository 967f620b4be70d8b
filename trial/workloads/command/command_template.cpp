// A command is words from the beginning to the end, so that no value can become a second command.
// split_command() knows a shell's quotes and nothing else of it; shell_sign() finds what a shell
// would have been needed for.
#include "trial/workloads/command/command_template.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// The closing brace of the name whose opening brace is at `at`; npos: there is none. ${NAME} is a
// shell's.
std::size_t name_end(const std::string& text, std::size_t at) {
  if (at > 0 && text[at - 1] == '$') return std::string::npos;
  std::size_t end = at + 1;
  while (end < text.size() && name_character(text[end])) ++end;
  const bool closed = end > at + 1 && end < text.size() && text[end] == '}';
  // "{0}" and "{-1}" are of a program's own format strings.
  const bool named = closed && std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0;
  return named ? end : std::string::npos;
}

// Calls on_text for the text between placeholders and on_name for each name.
void each_piece(const std::string& text, const std::function<void(const std::string&)>& on_text,
                const std::function<void(const std::string&)>& on_name) {
  std::string plain;
  int open = 0;  // "{{": a "}}" without one closes two objects of JSON or blocks of a script
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    // A "}}" counts as a doubled brace only where a "{{" is open.
    if (doubled && (c == '{' || (c == '}' && open > 0))) {
      open += c == '{' ? 1 : -1;
      plain += c;
      ++at;
      continue;
    }
    const std::size_t end = c == '{' ? name_end(text, at) : std::string::npos;
    if (end == std::string::npos) {
      plain += c;
      continue;
    }
    on_text(plain);
    plain.clear();
    on_name(text.substr(at + 1, end - at - 1));
    at = end;
  }
  on_text(plain);
}

// "{name?--flag=}"
struct OptionalFlag {
  std::string name, flag;
};

std::optional<OptionalFlag> optional_flag(const std::string& argument) {
  // Only as a whole argument: a flag that is left out must leave no empty word behind.
  const std::size_t mark = argument.find("?-");
  if (mark == std::string::npos || argument.size() < mark + 3) return std::nullopt;
  if (argument.front() != '{' || !ends_with(argument, "=}")) return std::nullopt;
  OptionalFlag found = {argument.substr(1, mark - 1),
                        argument.substr(mark + 1, argument.size() - mark - 2)};
  const bool named =
      !found.name.empty() && std::all_of(found.name.begin(), found.name.end(), name_character);
  return named ? std::optional<OptionalFlag>(std::move(found)) : std::nullopt;
}

// Characters of the line end at `at`: 0, where there is none.
std::size_t line_end_at(const std::string& text, std::size_t at) {
  if (text.compare(at, 1, "\n") == 0) return 1;
  return text.compare(at, 2, "\r\n") == 0 ? 2 : 0;
}

// The last character of the placeholder that begins at `at`, or `at`.
std::size_t placeholder_end(const std::string& text, std::size_t at) {
  const std::size_t end = text[at] == '{' ? text.find_first_of(" }", at) : std::string::npos;
  const bool named = end != std::string::npos && text[end] == '}' &&
                     !placeholder_names(text.substr(at, end + 1 - at)).empty();
  return named ? end : at;
}

}  // namespace

std::vector<std::string> placeholder_names(const std::string& text) {
  if (const auto flag = optional_flag(text)) return {flag->name};
  std::vector<std::string> names;
  each_piece(
      text, [](const std::string&) {}, [&](const std::string& name) { names.push_back(name); });
  return names;
}

Result<std::string> fill_placeholders(const std::string& text,
                                      const std::map<std::string, std::string>& values) {
  std::string filled;
  std::string unknown;
  each_piece(
      text, [&](const std::string& plain) { filled += plain; },
      [&](const std::string& name) {
        const auto found = values.find(name);
        if (found != values.end()) filled += found->second;
        // The first one is told, and the rest is filled all the same.
        if (found == values.end() && unknown.empty()) unknown = name;
      });
  if (unknown.empty()) return filled;
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  const std::string near = nearest_name(unknown, names);
  return Error{ErrorKind::usage,
               fmt::format("unknown placeholder {{{}}} in '{}'{}; there are {{{}}}; {{{{{}}}}} "
                           "stands for the text itself",
                           unknown, text, near.empty() ? "" : "; did you mean {" + near + "}?",
                           join(names, "}, {"), unknown)};
}

std::string template_of(const std::string& text) {
  std::string doubled;
  int open = 0;
  for (const char c : text) {
    doubled += c;
    const bool closes = c == '}' && open > 0;
    if (c != '{' && !closes) continue;
    doubled += c;
    open += closes ? -1 : 1;
  }
  return doubled;
}

Result<std::vector<std::string>> fill_command(const std::vector<std::string>& command,
                                              const std::map<std::string, std::string>& values) {
  std::vector<std::string> filled;
  for (const std::string& argument : command) {
    if (const auto flag = optional_flag(argument)) {
      const auto value = OCRTUNE_TRY(fill_placeholders("{" + flag->name + "}", values));
      if (value != "none") filled.push_back(flag->flag + value);
      continue;
    }
    auto text = OCRTUNE_TRY(fill_placeholders(argument, values));
    const auto names = placeholder_names(argument);
    const bool only_one = names.size() == 1 && argument == "{" + names[0] + "}";
    // An argument that is empty for another reason may be meant so.
    if (text.empty() && only_one) continue;
    filled.push_back(std::move(text));
  }
  return filled;
}

Result<std::vector<std::string>> split_command(const std::string& line) {
  std::vector<std::string> arguments;
  std::string open;
  bool begun = false;
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    const bool escapes = c == '\\' && quote != '\'' && at + 1 < line.size();
    // A backslash at the end of a line goes on with it, as in a shell.
    const std::size_t continues = escapes ? line_end_at(line, at + 1) : 0;
    if (continues > 0) {
      at += continues;
    } else if (escapes) {
      open += line[++at];
      begun = true;
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        open += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (begun) arguments.push_back(open);
      open.clear();
      begun = false;
    } else {
      open += c;
      begun = true;
    }
  }
  if (quote != '\0') {
    return Error{ErrorKind::usage, fmt::format("a {} is not closed in: {}", quote, line)};
  }
  if (begun) arguments.push_back(open);
  return arguments;
}

char shell_sign(const std::string& line) {
  constexpr std::string_view kSigns = "*?&|;<>$`";
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else {
      const bool begins = at == 0 || std::isspace(static_cast<unsigned char>(line[at - 1])) != 0;
      // Within an address these three have a meaning of their own.
      const bool address = line.find("://", line.find_last_of(" \t\n", at) + 1) < at;
      if (address && (c == '?' || c == '&' || c == '*')) continue;
      if (kSigns.find(c) != std::string_view::npos || (c == '~' && begins)) return c;
      // {name?--flag=} holds a question mark and is ours.
      at = placeholder_end(line, at);
    }
  }
  return '\0';
}

}  // namespace ocrtune
