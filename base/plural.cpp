// English by its endings alone: "-y" behind a consonant and irregular nouns are not known, and no
// caller has one.
#include "base/plural.h"

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

std::string noun_after(double number, std::string_view noun) {
  if (number == 1) return std::string(noun);
  const bool hisses = ends_with(noun, "s") || ends_with(noun, "ch") || ends_with(noun, "x");
  return fmt::format("{}{}", noun, hisses ? "es" : "s");
}

std::string how_many(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}", count, noun_after(static_cast<double>(count), noun));
}

}  // namespace ocrtune
