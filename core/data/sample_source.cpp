// This file has what the two sources share.
#include "core/data/sample_source.h"

#include <utility>

namespace ocrtune {

void UnusableLines::add(std::string what) {
  ++count;
  if (examples.size() < 5) examples.push_back(std::move(what));
}

Result<std::string> SampleSource::image_head(std::int64_t line, std::uint64_t) const {
  return image_bytes(line);
}

}  // namespace ocrtune
