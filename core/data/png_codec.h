// PNG through libpng's simplified calls, in which its long jumps stay inside the library.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/data/image.h"

namespace ocrtune {

Result<Image> decode_png(std::string_view bytes);

// Fast rather than small. The same image gives the same bytes for one version of zlib and libpng.
Result<std::string> encode_png(const Image& image);

}  // namespace ocrtune
