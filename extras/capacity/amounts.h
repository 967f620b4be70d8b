// Amounts of work as people write them.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

// "40,000", "40k", "24.8M", "2e6": above zero, 1e15 at most. usage: says
// what is wanted.
Result<double> parse_count(const std::string& text);

}  // namespace ocrtune
