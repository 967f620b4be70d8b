#include "core/image_file.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "core/jpeg_codec.h"
#include "core/png_codec.h"

namespace ocrtune {

Result<Image> decode_image(std::string_view bytes) {
  if (bytes.empty()) return Error{ErrorKind::invalid, "empty file"};
  if (bytes.substr(0, 4) == "\x89PNG") return decode_png(bytes);
  if (bytes.substr(0, 2) == "\xFF\xD8") return decode_jpeg(bytes);
  return Error{ErrorKind::invalid, "neither PNG nor JPEG"};
}

Result<std::string> read_image_bytes(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return system_error(errno, "open " + path);
  if (!S_ISREG(facts.st_mode)) return Error{ErrorKind::invalid, path + ": not a file"};
  if (facts.st_size > 256 << 20) return Error{ErrorKind::invalid, path + ": over 256 MiB"};
  return read_file(path);
}

Result<Image> read_image(const std::string& path) {
  const auto bytes = read_image_bytes(path);
  if (!bytes) return bytes.error();
  Result<Image> image = decode_image(*bytes);
  if (!image) return Error{image.error().kind, path + ": " + image.error().what};
  return image;
}

}  // namespace ocrtune
