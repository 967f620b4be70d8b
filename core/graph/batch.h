// One batch as it comes from the loader: padded images and the labels they spell.
#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"

namespace ocrtune {

struct Batch {
  int count = 0;              // N
  int channels = 3;           // C
  int height = 32;            // H
  int width = 320;            // W, of the bucket; narrower lines are padded with 0 on the right
  std::vector<float> images;  // [N, C, H, W], (x / 255 - 0.5) / 0.5
  std::vector<std::vector<int>> labels;  // [N] class indexes from 1; 0 is the CTC blank
};

struct BatchShape {
  int count = 0, height = 0, width = 0;
  friend bool operator==(const BatchShape&, const BatchShape&) = default;
};

std::size_t image_floats(const BatchShape& shape);  // of the whole batch

// Pixels uniform in [-1, 1), then, where `label_length` is above 0, labels of so many of the
// classes from 1 to below `classes`.
Batch noise_batch(const BatchShape& shape, Random& random, int label_length = 0, int classes = 0);

// The shapes that batches have. `heights` empty: one, batch x height x width. Otherwise one for
// each height, `batch` images of the first and of the others as many as hold the same number of
// pixels: PaddleOCR's MultiScaleSampler with first_bs = batch (320 x 32, 48 and 64: all, 2/3 and
// half).
std::vector<BatchShape> batch_shapes(int batch, int height, int width,
                                     const std::vector<int>& heights);

}  // namespace ocrtune
