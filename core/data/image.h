// A picture as 8-bit RGB.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3], red first
};

struct PictureSize {
  int width = 0, height = 0;
};

// A file whose header claims more is refused before anything is allocated.
inline constexpr std::int64_t kMaxPixels = 50'000'000;

}  // namespace ocrtune
