// A line is kept only up to its limit while it comes in, so its length never costs memory.
#include "base/line_splitter.h"

#include <algorithm>

namespace ocrtune {

void LineSplitter::add(std::string_view bytes,
                       const std::function<void(const std::string&)>& sink) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    line_.append(piece.substr(0, max_bytes_ - std::min(max_bytes_, line_.size())));
    if (end == std::string_view::npos) return;
    // "\r\n" ends a line twice: the empty one between the two bytes is left out.
    if (!line_.empty()) sink(line_);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace ocrtune
