#include "core/data/image_file.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "core/data/jpeg_codec.h"
#include "core/data/png_codec.h"

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

Result<Image> read_image(const std::string& path) {
  const auto bytes = OCRTUNE_TRY(read_image_bytes(path));
  Result<Image> image = decode_image(bytes);
  if (!image) return Error{image.error().kind, path + ": " + image.error().what};
  return image;
}

}  // namespace ocrtune
