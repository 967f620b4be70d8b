// JPEG through libjpeg; its error jumps end in this room.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/data/image.h"

namespace ocrtune {

// A file that ends too early is an error, though libjpeg would fill the rest with grey.
Result<Image> decode_jpeg(std::string_view bytes);

Result<std::string> encode_jpeg(const Image& image, int quality);  // quality 1 to 100

}  // namespace ocrtune
