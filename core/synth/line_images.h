// Draws lines of text as a camera might see them: fonts, sizes, slant, rotation, blur, colours,
// contrast and noise vary from line to line. FreeType renders the glyphs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/data/image_file.h"

namespace ocrtune {

struct DrawOptions {
  std::vector<std::string> fonts;  // files, from find_fonts()
  int height = 32;                 // lines are drawn 1 to 1.5 times as high
  int min_length = 1;              // characters
  int max_length = 12;
  std::uint64_t seed = 1;
};

struct DrawnLine {
  std::string text;
  Image image;
};

// Not for use by two threads at once: give each its own.
class LinePainter {
 public:
  // missing: no font at all; unsupported: none has all characters (names one that is lacking).
  // Fonts that cannot be read or lack a character are left out.
  static Result<LinePainter> create(const Alphabet& alphabet, const DrawOptions& options);
  LinePainter(LinePainter&&) noexcept;
  ~LinePainter();

  // Depends on the seed, the fonts in use, the options and `index`; on nothing drawn before.
  Result<DrawnLine> draw(std::int64_t index);

  const std::vector<std::string>& fonts() const;  // those in use

 private:
  struct State;
  explicit LinePainter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

std::string freetype_version();

}  // namespace ocrtune
