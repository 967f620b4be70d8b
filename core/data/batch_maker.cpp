// Works through one batch, item by item; where an image cannot be used, the order names the line of
// the next attempt. So every process replaces it by the same line.
#include "core/data/batch_maker.h"

#include "core/data/image_file.h"
#include "core/data/resize.h"

namespace ocrtune {
namespace {

// The value is a guess: so many bad lines in a row mean a wrong folder.
constexpr int kMaxAttempts = 100;

}  // namespace

Status BatchMaker::write_image(std::int64_t line, const BatchShape& shape,
                               std::span<float> planes) const {
  const auto bytes = OCRTUNE_TRY(source_->image_bytes(line));
  const auto image = OCRTUNE_TRY(decode_image(bytes));
  write_line(image, shape.height, shape.width, planes);
  return Status();
}

Status BatchMaker::make(std::int64_t sequence, std::span<float> images,
                        std::span<std::int64_t> lines, std::vector<BadLine>& bad) const {
  const BatchShape shape = order_->shape(sequence);
  const std::size_t floats = images.size() / lines.size();
  for (std::size_t item = 0; item < lines.size(); ++item) {
    const std::span<float> planes = images.subspan(item * floats, floats);
    for (int attempt = 0;; ++attempt) {
      const std::int64_t line = order_->line(sequence, static_cast<int>(item), attempt);
      const Status written = write_image(line, shape, planes);
      if (written) {
        lines[item] = line;
        break;
      }
      bad.push_back({line, source_->name(line) + ": " + written.error().what});
      if (attempt + 1 < kMaxAttempts) continue;
      return Error{ErrorKind::invalid, "no usable image in " + std::to_string(kMaxAttempts) +
                                           " lines, the last: " + bad.back().why};
    }
  }
  return Status();
}

}  // namespace ocrtune
