// Pictures from PNG and JPEG files. A damaged file is an error of kind invalid, never a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/data/image.h"

namespace ocrtune {

// PNG (any depth, grey, palette, alpha over white) or JPEG (grey or colour), by their first bytes.
Result<Image> decode_image(std::string_view bytes);

// Width and height from the file's head: PNG's first 24 bytes, JPEG's frame header, which may
// stand behind thousands of bytes of camera data. invalid: not (yet) there.
Result<PictureSize> picture_size(std::string_view head);

// The whole file: regular files up to 256 MiB only, so that a pipe cannot hang the reader.
Result<std::string> read_image_bytes(const std::string& path);
Result<std::string> read_image_head(const std::string& path, std::uint64_t max_bytes);
Result<Image> read_image(const std::string& path);  // errors begin with the path

}  // namespace ocrtune
