// Patterns of the user's own, with named groups. RE2 matches in time linear in the line, whatever
// the pattern.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace ocrtune {

// (?<name>...) or (?P<name>...). usage: it does not compile.
Result<std::shared_ptr<const re2::RE2>> compile_named(const std::string& pattern);

}  // namespace ocrtune
