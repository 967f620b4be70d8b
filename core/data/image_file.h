// Pictures from PNG and JPEG files. A damaged file is an error of kind invalid, never a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// A picture as 8-bit RGB.
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

// PNG (any depth, grey, palette, alpha over white) or JPEG (grey or colour), by their first bytes.
Result<Image> decode_image(std::string_view bytes);

// Enough for a size, unless much stands before a JPEG's frame.
inline constexpr std::uint64_t kPictureHeadBytes = 4096;

// Width and height from the file's head: PNG's first 24 bytes, JPEG's frame header, which may
// stand behind thousands of bytes of camera data. invalid: not (yet) there.
Result<PictureSize> picture_size(std::string_view head);

// The whole file: regular files up to 256 MiB only, so that a pipe cannot hang the reader.
Result<std::string> read_image_bytes(const std::string& path);
Result<std::string> read_image_head(const std::string& path, std::uint64_t max_bytes);
Result<PictureSize> read_picture_size(const std::string& path);  // of its head, where that says it
Result<Image> read_image(const std::string& path);               // errors begin with the path

// Through libpng's simplified calls, in which its long jumps stay inside the library.
Result<Image> decode_png(std::string_view bytes);

// Fast rather than small. The same image gives the same bytes for one version of zlib and libpng.
Result<std::string> encode_png(const Image& image);

// Through libjpeg, whose error jumps end in this room. A file that ends too early is an error,
// though libjpeg would fill the rest with grey.
Result<Image> decode_jpeg(std::string_view bytes);

Result<std::string> encode_jpeg(const Image& image, int quality);  // quality 1 to 100

}  // namespace ocrtune
