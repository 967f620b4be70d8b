// Shapes and noise alone: real batches are made in core/data.
#include "core/graph/batch.h"

#include <algorithm>

namespace ocrtune {

std::size_t image_floats(const BatchShape& shape) {
  return 3 * static_cast<std::size_t>(shape.count) * static_cast<std::size_t>(shape.height) *
         static_cast<std::size_t>(shape.width);
}

Batch noise_batch(const BatchShape& shape, Random& random, int label_length, int classes) {
  Batch batch;
  batch.count = shape.count;
  batch.height = shape.height;
  batch.width = shape.width;
  batch.images.resize(image_floats(shape));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  if (label_length <= 0) return batch;
  batch.labels.resize(static_cast<std::size_t>(shape.count));
  for (std::vector<int>& label : batch.labels) {
    label.resize(static_cast<std::size_t>(label_length));
    for (int& symbol : label) symbol = static_cast<int>(random.integer(1, classes - 1));
  }
  return batch;
}

std::vector<BatchShape> batch_shapes(int batch, int height, int width,
                                     const std::vector<int>& heights) {
  if (heights.empty()) return {{batch, height, width}};
  std::vector<BatchShape> shapes;
  for (const int own : heights) {
    // All shapes have one width, so equal pixels means equal rows.
    const std::int64_t rows = static_cast<std::int64_t>(batch) * heights.front();
    shapes.push_back({std::max(1, static_cast<int>(rows / std::max(1, own))), own, width});
  }
  return shapes;
}

}  // namespace ocrtune
