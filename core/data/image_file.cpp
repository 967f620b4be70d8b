// Both libraries are given whole files in memory. libpng is used through its simplified calls, so
// only libjpeg needs setjmp() here.
#include "core/data/image_file.h"

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>
#include <sys/stat.h>

#include <cerrno>
#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace ocrtune {

Result<Image> decode_image(std::string_view bytes) {
  if (bytes.empty()) return Error{ErrorKind::invalid, "empty file"};
  if (bytes.substr(0, 4) == "\x89PNG") return decode_png(bytes);
  if (bytes.substr(0, 2) == "\xFF\xD8") return decode_jpeg(bytes);
  return Error{ErrorKind::invalid, "neither PNG nor JPEG"};
}

Result<PictureSize> picture_size(std::string_view head) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + bytes; ++i) {
      value = value << 8 | static_cast<unsigned char>(head[i]);
    }
    return value;
  };
  PictureSize size;
  if (head.substr(0, 4) == "\x89PNG" && head.size() >= 24) {
    size = {static_cast<int>(number(16, 4)), static_cast<int>(number(20, 4))};
  } else if (head.substr(0, 2) == "\xFF\xD8") {
    // Segments of a marker and a length; a frame header is C0 to CF, but for three of them.
    for (std::size_t at = 2; at + 9 <= head.size() && number(at, 1) == 0xFF;) {
      const std::uint64_t marker = number(at + 1, 1);
      if (marker == 0xFF) {
        ++at;  // a filling byte
        continue;
      }
      if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
        size = {static_cast<int>(number(at + 7, 2)), static_cast<int>(number(at + 5, 2))};
        break;
      }
      at += 2 + number(at + 2, 2);
    }
  }
  if (size.width >= 1 && size.height >= 1) return size;
  return Error{ErrorKind::invalid, "no picture's size in its first bytes"};
}

namespace {

// libjpeg calls back on errors and may not return: jump to the function that called it. Objects
// with destructors live outside of the functions that jump.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf out;
  bool cut_short;
  char message[JMSG_LENGTH_MAX];
};

JpegErrors& errors_of(j_common_ptr jpeg) { return *reinterpret_cast<JpegErrors*>(jpeg->err); }

void on_error(j_common_ptr jpeg) {
  JpegErrors& errors = errors_of(jpeg);
  errors.base.format_message(jpeg, errors.message);
  std::longjmp(errors.out, 1);  // NOLINT(bugprone-*): the way that libjpeg prescribes
}

void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  // libjpeg only warns of these and fills the rest of the picture.
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER) errors_of(jpeg).cut_short = true;
}

void prepare(JpegErrors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = on_message;
  errors.cut_short = false;
  errors.message[0] = '\0';
}

enum class Decoded { fine, failed, too_large };

Decoded decode_into(std::string_view bytes, JpegErrors& errors, Image& image) {
  jpeg_decompress_struct jpeg = {};
  prepare(errors);
  jpeg.err = &errors.base;
  if (setjmp(errors.out) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return Decoded::failed;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  if (static_cast<std::int64_t>(jpeg.image_width) * jpeg.image_height > kMaxPixels) {
    image.width = static_cast<int>(jpeg.image_width);
    image.height = static_cast<int>(jpeg.image_height);
    jpeg_destroy_decompress(&jpeg);
    return Decoded::too_large;
  }
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  image.width = static_cast<int>(jpeg.output_width);
  image.height = static_cast<int>(jpeg.output_height);
  const std::size_t stride = static_cast<std::size_t>(jpeg.output_width) * 3;
  image.pixels.resize(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = image.pixels.data() + stride * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return Decoded::fine;
}

// False: `errors.message` says why. `*memory` is the caller's to free, in both cases.
bool encode_into(const Image& image, int quality, JpegErrors& errors, unsigned char** memory,
                 unsigned long* size) {
  jpeg_compress_struct jpeg = {};
  prepare(errors);
  jpeg.err = &errors.base;
  if (setjmp(errors.out) != 0) {
    jpeg_destroy_compress(&jpeg);
    return false;
  }
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, memory, size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(image.pixels.data() + stride * jpeg.next_scanline);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return true;
}

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

Result<std::uint64_t> regular_file_size(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return system_error(errno, "open " + path);
  if (!S_ISREG(facts.st_mode)) return Error{ErrorKind::invalid, path + ": not a file"};
  return static_cast<std::uint64_t>(facts.st_size);
}

}  // namespace

Result<std::string> read_image_bytes(const std::string& path) {
  const auto size = OCRTUNE_TRY(regular_file_size(path));
  if (size > 256 << 20) return Error{ErrorKind::invalid, path + ": over 256 MiB"};
  return read_file(path);
}

Result<std::string> read_image_head(const std::string& path, std::uint64_t max_bytes) {
  OCRTUNE_TRY(regular_file_size(path));
  return read_file(path, max_bytes);
}

Result<PictureSize> read_picture_size(const std::string& path) {
  const auto head = OCRTUNE_TRY(read_image_head(path, kPictureHeadBytes));
  const auto size = picture_size(head);
  if (size || head.size() < kPictureHeadBytes) return size;
  return picture_size(OCRTUNE_TRY(read_image_bytes(path)));
}

Result<Image> read_image(const std::string& path) {
  const auto bytes = OCRTUNE_TRY(read_image_bytes(path));
  Result<Image> image = decode_image(bytes);
  if (!image) return Error{image.error().kind, path + ": " + image.error().what};
  return image;
}

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
  // libpng converts every kind of file to this; alpha is laid over white below.
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

Result<Image> decode_jpeg(std::string_view bytes) {
  JpegErrors errors;
  Image image;
  switch (decode_into(bytes, errors, image)) {
    case Decoded::failed:
      return Error{ErrorKind::invalid, std::string("JPEG: ") + errors.message};
    case Decoded::too_large:
      return Error{ErrorKind::invalid, "JPEG: " + std::to_string(image.width) + " x " +
                                           std::to_string(image.height) + " pixels are too many"};
    case Decoded::fine:
      break;
  }
  if (errors.cut_short) return Error{ErrorKind::invalid, "JPEG: the file is cut short"};
  return image;
}

Result<std::string> encode_jpeg(const Image& image, int quality) {
  JpegErrors errors;
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  // libjpeg allocates `memory` with malloc().
  const bool fine = encode_into(image, quality, errors, &memory, &size);
  std::string bytes;
  if (fine) bytes.assign(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  if (!fine) return Error{ErrorKind::failed, std::string("JPEG: ") + errors.message};
  return bytes;
}

}  // namespace ocrtune
