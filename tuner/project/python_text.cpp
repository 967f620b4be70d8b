// No parser of Python: statements are lines joined over brackets and backslashes, with strings
// emptied and comments dropped. That is enough for three questions, and no text of a folder can
// make it do more.
#include "tuner/project/python_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/text.h"

namespace ocrtune {
namespace {

// A statement's lines as one, without comments and without what stands in quotes.
struct Statement {
  std::size_t indent = 0;
  std::string text;  // without the indent
};

bool name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string first_word(const std::string& text) {
  std::size_t end = 0;
  while (end < text.size() && name_letter(text[end])) ++end;
  return text.substr(0, end);
}

// The quote behind the string whose opening quote is at `at`, or the end of a line or the text.
std::size_t string_end(const std::string& text, std::size_t at) {
  const std::string three(3, text[at]);
  if (text.compare(at, 3, three) == 0) {
    std::size_t end = at + 3;
    while (end < text.size() && text.compare(end, 3, three) != 0) end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 2, text.size());
  }
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return end < text.size() && text[end] == '\n' ? end - 1 : std::min(end, text.size());
}

std::vector<Statement> statements_of(const std::string& text) {
  std::vector<Statement> all;
  std::string line;
  const auto end_line = [&] {
    const std::size_t begin = line.find_first_not_of(" \t\r\f");
    if (begin != std::string::npos) all.push_back({begin, line.substr(begin)});
    line.clear();
  };
  int depth = 0;  // of brackets
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      // Only the quotes stay: what a string says is no code.
      line += std::string(2, c);
      at = string_end(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '\\' && at + 1 < text.size()) {
      at += text.compare(at + 1, 2, "\r\n") == 0 ? 2 : 1;
    } else if (c == '\n' && depth == 0) {
      end_line();
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') depth = std::max(depth - 1, 0);
      line += c == '\n' ? ' ' : c;
    }
  }
  end_line();
  return all;
}

// "a = b", "a[0] += b" and "a: int", but not "f(a=1)" or "a == b".
bool is_assignment(const std::string& text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    // Inside of brackets "=" names an argument.
    if (depth > 0) continue;
    if (c == ':') return true;
    const bool compares = at + 1 < text.size() && text[at + 1] == '=';
    if (c == '=' && !compares) return true;
    if (compares && (c == '=' || c == '!' || c == '<' || c == '>')) ++at;
  }
  return false;
}

bool defines(const std::string& word) {
  return word == "def" || word == "class" || word == "async";
}

bool does_something(const Statement& one, const std::vector<std::string_view>& makers) {
  static constexpr std::array<std::string_view, 14> kQuiet = {
      "import", "from",   "pass",    "raise",  "if",  "elif",   "else",
      "try",    "except", "finally", "global", "del", "assert", "return"};
  static constexpr std::array<std::string_view, 4> kLoops = {"for", "while", "with", "match"};
  const std::string word = first_word(one.text);
  if (std::find(kQuiet.begin(), kQuiet.end(), word) != kQuiet.end()) return false;
  if (std::find(kLoops.begin(), kLoops.end(), word) != kLoops.end()) return true;
  const std::size_t at = std::min(word.size(), one.text.size() - 1);
  const char next = one.text[at];
  if (next == '@' || next == '\'' || next == '"') return false;  // r"""docstring""" too
  const auto made = [&](std::string_view maker) {
    return one.text.find(maker) != std::string::npos;
  };
  return !is_assignment(one.text) || std::any_of(makers.begin(), makers.end(), made);
}

std::size_t after_blanks(const std::string& text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// The number of two to five digits that begins at `at`; empty: another thing stands there.
std::string port_at(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && name_letter(text[end])) ++end;
  if (end < at + 2 || end > at + 5 || text[at] == '0') return "";
  const std::string port = text.substr(at, end - at);
  const bool number = port.find_first_not_of("0123456789") == std::string::npos;
  return number ? port : "";
}

// What stands between the "(" and the comma at `comma`, where that is short.
std::string last_argument(const std::string& text, std::size_t comma) {
  constexpr std::size_t kLongest = 80;
  const std::size_t open = text.find_last_of("(,\n", comma - 1);
  const bool first = comma > 0 && open != std::string::npos && text[open] == '(';
  if (!first || comma - open > kLongest) return "";
  const std::size_t begin = after_blanks(text, open + 1);
  return text.substr(begin, text.find_last_not_of(' ', comma - 1) + 1 - begin);
}

// "host", '0.0.0.0', "localhost", '' and the "port" of an environment.
bool is_host(const std::string& argument) {
  if (argument.empty()) return false;
  const char quote = argument[0];
  if (quote != '\'' && quote != '"') return argument.find("host") != std::string::npos;
  const std::string inner = argument.substr(1, argument.size() - 2);
  return inner.find_first_not_of("0123456789.:") == std::string::npos || inner == "localhost" ||
         ends_with(inner, "port");
}

}  // namespace

bool runs_when_loaded(const std::string& text, const std::vector<std::string_view>& makers) {
  std::size_t body = std::string::npos;  // the indent of the function or class that lines are in
  for (const Statement& one : statements_of(text)) {
    if (body != std::string::npos && one.indent > body) continue;
    body = defines(first_word(one.text)) ? one.indent : std::string::npos;
    if (body == std::string::npos && does_something(one, makers)) return true;
  }
  return false;
}

std::vector<std::string> imported_files(const std::string& text) {
  std::vector<std::string> files;
  const auto add = [&](std::string module) {
    module.erase(0, module.find_first_not_of('.'));
    const bool named = std::all_of(module.begin(), module.end(),
                                   [](char c) { return name_letter(c) || c == '.'; });
    if (!named) return;
    std::replace(module.begin(), module.end(), '.', '/');
    if (module.empty()) return;
    files.push_back(module + ".py");
    files.push_back(module + "/__init__.py");
  };
  for (const Statement& one : statements_of(text)) {
    std::string plain = one.text;
    std::replace_if(
        plain.begin(), plain.end(), [](char c) { return c == ',' || c == '(' || c == ')'; }, ' ');
    const std::vector<std::string> all = words(plain);
    if (all.size() < 2 || (all[0] != "import" && all[0] != "from")) continue;
    const std::string from = all[0] == "from" ? all[1] + "." : "";
    if (!from.empty()) add(all[1]);
    for (std::size_t i = from.empty() ? 1 : 3; i < all.size(); ++i) {
      if (all[i] == "as") {
        ++i;  // the name behind it is another one
      } else {
        add(from + all[i]);
      }
    }
  }
  return files;
}

std::string literal_port(const std::string& text) {
  const std::string small = lower(text);
  std::set<std::string> ports;
  // port=8000 and "port: int = 8000"; then, below, (host, 8000).
  for (std::size_t at = small.find("port"); at != std::string::npos; at = small.find("port", at)) {
    const bool inside = at > 0 && name_letter(small[at - 1]) && small[at - 1] != '_';  // "support"
    at = after_blanks(small, at + 4);
    if (inside) continue;
    if (at < small.size() && small[at] == ':') at = after_blanks(small, at + 1);
    if (small.compare(at, 3, "int") == 0) at = after_blanks(small, at + 3);
    if (at >= small.size() || small[at] != '=') continue;
    ports.insert(port_at(small, after_blanks(small, at + 1)));
  }
  for (std::size_t at = small.find(','); at != std::string::npos; at = small.find(',', at + 1)) {
    const std::size_t number = after_blanks(small, at + 1);
    const std::string port = port_at(small, number);
    const std::size_t close = after_blanks(small, number + port.size());
    if (port.empty() || close >= small.size() || small[close] != ')') continue;
    if (is_host(last_argument(small, at))) ports.insert(port);
  }
  ports.erase("");
  return ports.size() == 1 ? *ports.begin() : "";  // of several nothing says which is its own
}

}  // namespace ocrtune
