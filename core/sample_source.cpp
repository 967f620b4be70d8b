#include "core/sample_source.h"

#include <utility>

namespace ocrtune {

void UnusableLines::add(std::string what) {
  ++count;
  if (examples.size() < 5) examples.push_back(std::move(what));
}

}  // namespace ocrtune
