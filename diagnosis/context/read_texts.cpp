#include "diagnosis/context/read_texts.h"

#include <re2/re2.h>

namespace ocrtune {

bool ReadTexts::take_line(std::string_view line) {
  constexpr int kMost = 10000;  // more say nothing anew
  if (texts_ == kMost || line.find("', 0.9") == line.npos) return false;
  static const re2::RE2 kScored(R"(\(["']+([^\s].+)', 0\.9\d+\))");
  static const re2::RE2 kOdd(R"([^\s'"/.:][_\[\]{}|^~"!;<>=?$`&%][^\s'")%.]|["!%&]{2}|[!%&]["'])");
  re2::StringPiece text;
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, kScored, &text)) return false;
  const bool odd = re2::RE2::PartialMatch(text, kOdd);
  texts_ += 1;
  odd_ += odd;
  return odd;
}

}  // namespace ocrtune
