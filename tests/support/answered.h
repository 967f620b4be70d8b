// What a tune on a machine that other programs use may end with.
#pragma once

#include <string>

namespace ocrtune {

// A recommendation, settled or (exit code 1) left open by other load.
inline bool answered(int code, const std::string& out) {
  const bool open = out.find("INCONCLUSIVE") != std::string::npos ||
                    out.find("\"verdict\": \"inconclusive\"") != std::string::npos;
  return code == 0 || (code == 1 && open);
}

}  // namespace ocrtune
