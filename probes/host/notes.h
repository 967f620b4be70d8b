// What a probe has to say beside its facts: what it could not know, and what to look out for.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

struct Notes {
  std::vector<std::string> unknowns;  // "swap: /proc/meminfo has no SwapTotal"
  std::vector<std::string> warnings;  // in words, with the way out
};

}  // namespace ocrtune
