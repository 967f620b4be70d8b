#include "core/graph/batch.h"

#include <algorithm>

namespace ocrtune {

std::size_t image_floats(const BatchShape& shape) {
  return 3 * static_cast<std::size_t>(shape.count) * static_cast<std::size_t>(shape.height) *
         static_cast<std::size_t>(shape.width);
}

std::vector<BatchShape> batch_shapes(int batch, int height, int width,
                                     const std::vector<int>& heights) {
  if (heights.empty()) return {{batch, height, width}};
  std::vector<BatchShape> shapes;
  for (const int own : heights) {
    const std::int64_t rows = static_cast<std::int64_t>(batch) * heights.front();
    shapes.push_back({std::max(1, static_cast<int>(rows / std::max(1, own))), own, width});
  }
  return shapes;
}

}  // namespace ocrtune
