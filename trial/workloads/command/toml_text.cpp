// toml++ 3.0 asserts, or with NDEBUG assumes, what a wrong file breaks ("[" and a new line); its
// parser refuses the same a line later.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_IMPLEMENTATION
#include "trial/workloads/command/toml_text.h"

#include <utility>

#include <fmt/format.h>

namespace ocrtune {

Result<toml::table> parse_toml(const std::string& text, const std::string& path) {
  toml::parse_result parsed = toml::parse(text, path);
  if (parsed) return std::move(parsed).table();
  return Error{ErrorKind::invalid,
               fmt::format("{}:{}: not TOML: {}", path, parsed.error().source().begin.line,
                           parsed.error().description())};
}

}  // namespace ocrtune
