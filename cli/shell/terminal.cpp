// Asked anew at each call: a window may be resized while a command runs.
#include "cli/shell/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/label_lines.h"

namespace ocrtune {
namespace {

constexpr int kMinWidth = 30;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) != 0; }

bool reader_is_gone(std::FILE* stream) {
  pollfd pipe{::fileno(stream), POLLOUT, 0};
  // poll(2): the writing end of a pipe without readers has POLLERR.
  return ::poll(&pipe, 1, 0) == 1 && (pipe.revents & (POLLERR | POLLHUP)) != 0;
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<int>(size.ws_col, kMinWidth);
  }
  const auto columns = parse_integer(environment("COLUMNS"));
  return columns && *columns > 0 && *columns < 10000
             ? std::max(static_cast<int>(*columns), kMinWidth)
             : 80;
}

int terminal_height(std::FILE* stream) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

int console_width(std::FILE* stream) {
  constexpr int kNeverCut = 100000;  // a file or a pipe has no edge
  return is_terminal(stream) ? terminal_width(stream) : kNeverCut;
}

int help_width(std::FILE* stream) {
  constexpr int kReadable = 100;
  return is_terminal(stream) ? std::min(terminal_width(stream), kReadable) : kReadable;
}

bool may_redraw(std::FILE* stream) { return is_terminal(stream) && environment("TERM") != "dumb"; }

Language terminal_language() {
  // POSIX's order of precedence for messages.
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return starts_with(value, "zh") ? Language::chinese : Language::english;
  }
  return Language::english;
}

void say_line(const std::string& line) { std::fprintf(stderr, "%s\n", plain_line(line).c_str()); }

std::string terminal_text(std::string_view english) { return said(english, terminal_language()); }

std::string terminal_text(std::string_view english, const std::vector<std::string>& values) {
  std::vector<Bilingual> holes;
  for (const std::string& value : values) holes.emplace_back(value, chinese_of(value));
  return in(phrase(english, holes), terminal_language());
}

bool may_colour(std::FILE* stream) { return may_redraw(stream) && environment("NO_COLOR").empty(); }

}  // namespace ocrtune
