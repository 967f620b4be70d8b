#include "core/data/jpeg_codec.h"

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>

namespace ocrtune {
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

}  // namespace

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
  const bool fine = encode_into(image, quality, errors, &memory, &size);
  std::string bytes;
  if (fine) bytes.assign(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  if (!fine) return Error{ErrorKind::failed, std::string("JPEG: ") + errors.message};
  return bytes;
}

}  // namespace ocrtune
