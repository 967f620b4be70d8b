// Whether a Chinese sentence was left half translated.
#pragma once

#include <string>

namespace ocrtune {

inline bool has_english(const std::string& text) {
  for (const char* word : {"the ", "slower", "You ", "about", "machine", "interrupt", "would"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace ocrtune
