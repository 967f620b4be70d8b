// The mark is an escape sequence of a private kind: ESC [ = N z.
#include "trial/ipc/copy_mark.h"

#include <charconv>
#include <system_error>
#include <vector>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::string_view kBegin = "\x1b[=";
constexpr char kEnd = 'z';

}  // namespace

std::string copy_mark(int copy) { return std::string(kBegin) + std::to_string(copy) + kEnd; }

std::optional<int> marked_copy(std::string_view line) {
  if (!line.starts_with(kBegin)) return std::nullopt;
  int copy = 0;
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + kBegin.size(), end, copy);
  if (error != std::errc() || copy < 0 || after == end || *after != kEnd) return std::nullopt;
  return copy;
}

std::string without_copy_marks(const std::string& lines) {
  std::vector<std::string> plain = split(lines, '\n');
  for (std::string& line : plain) {
    if (const auto copy = marked_copy(line)) line.erase(0, copy_mark(*copy).size());
  }
  return join(plain, "\n");
}

}  // namespace ocrtune
