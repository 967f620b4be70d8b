// What stands between the braces of a sentence of the catalogue: an argument, or two words of which
// a number chooses one.
//
// {} takes the next argument, {2} the third; {0:time|times} is the first word if the first argument
// is 1, else the second.
#pragma once

#include <cstddef>
#include <string_view>

namespace ocrtune {

struct Hole {
  std::size_t argument = 0;
  std::string_view one, many;

  constexpr bool chooses() const { return !one.empty() || !many.empty(); }
};

// Reads the hole whose braces hold `text`; `next` is the argument of "{}".
constexpr Hole read_hole(std::string_view text, std::size_t& next) {
  Hole hole;
  if (text.empty()) {
    hole.argument = next++;
    return hole;
  }
  hole.argument = static_cast<std::size_t>(text[0] - '0');
  if (text.size() > 1) {
    const std::size_t bar = text.find('|');
    hole.one = text.substr(2, bar - 2);
    hole.many = text.substr(bar + 1);
  }
  return hole;
}

}  // namespace ocrtune
