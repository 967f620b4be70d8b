// A line image as the network wants it: scaled to the height, normalised, padded on the right.
#pragma once

#include <span>

#include "core/data/image_file.h"

namespace ocrtune {

// Width of the line at this height with its aspect kept, at least 1 and at most `max_width`: wider
// lines are squeezed, because a cut would leave a label that the picture does not show.
int scaled_width(const PictureSize& size, int height, int max_width);
int scaled_width(const Image& image, int height, int max_width);

// Writes planes[3, height, width]: bilinear (pixel centres at halves, as OpenCV's INTER_LINEAR),
// (x / 255 - 0.5) / 0.5, zeros right of the line.
void write_line(const Image& image, int height, int width, std::span<float> planes);

}  // namespace ocrtune
