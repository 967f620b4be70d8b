#include "core/data/png_codec.h"

#include <png.h>

#include <cstring>

namespace ocrtune {
namespace {

// Frees what libpng holds for an image that was begun and not finished.
struct PngImage {
  png_image image;
  PngImage() {
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

Error png_failure(const png_image& image) {
  return Error{ErrorKind::invalid, std::string("PNG: ") + image.message};
}

}  // namespace

Result<Image> decode_png(std::string_view bytes) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) == 0) {
    return png_failure(png.image);
  }
  const std::int64_t pixels = static_cast<std::int64_t>(png.image.width) * png.image.height;
  if (pixels > kMaxPixels) {
    return Error{ErrorKind::invalid, "PNG: " + std::to_string(png.image.width) + " x " +
                                         std::to_string(png.image.height) + " pixels are too many"};
  }
  png.image.format = PNG_FORMAT_RGB;
  Image image;
  image.width = static_cast<int>(png.image.width);
  image.height = static_cast<int>(png.image.height);
  image.pixels.resize(PNG_IMAGE_SIZE(png.image));
  const png_color white = {255, 255, 255};
  if (png_image_finish_read(&png.image, &white, image.pixels.data(), 0, nullptr) == 0) {
    return png_failure(png.image);
  }
  // A cut file may end as a warning: the rows that are missing would be black.
  if (PNG_IMAGE_FAILED(png.image)) return png_failure(png.image);
  return image;
}

Result<std::string> encode_png(const Image& image) {
  PngImage png;
  png.image.width = static_cast<png_uint_32>(image.width);
  png.image.height = static_cast<png_uint_32>(image.height);
  png.image.format = PNG_FORMAT_RGB;
  png.image.flags = PNG_IMAGE_FLAG_FAST;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(png.image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&png.image, bytes.data(), &size, 0, image.pixels.data(), 0,
                                nullptr) == 0) {
    return png_failure(png.image);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace ocrtune
