// One batch as it comes from the loader: padded images and the labels they spell.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

struct Batch {
  int count = 0;              // N
  int channels = 3;           // C
  int height = 32;            // H
  int width = 320;            // W, of the bucket; narrower lines are padded with 0 on the right
  std::vector<float> images;  // [N, C, H, W], (x / 255 - 0.5) / 0.5
  std::vector<std::vector<int>> labels;  // [N] class indexes from 1; 0 is the CTC blank
};

}  // namespace ocrtune
