// Pictures from PNG and JPEG files. A damaged file is an error of kind invalid, never a crash.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/image.h"

namespace ocrtune {

// PNG (any depth, grey, palette, alpha over white) or JPEG (grey or colour), by their first bytes.
Result<Image> decode_image(std::string_view bytes);

// The whole file: regular files up to 256 MiB only, so that a pipe cannot hang the reader.
Result<std::string> read_image_bytes(const std::string& path);
Result<Image> read_image(const std::string& path);  // errors begin with the path

}  // namespace ocrtune
