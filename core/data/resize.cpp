// Taps of rows and columns are computed once for the image. Two rows are mixed and normalised in
// one step, then each channel is read from the mixed row.
#include "core/data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace ocrtune {
namespace {

// Where an output pixel reads: between `first` and `second`, `weight` of the second.
struct Tap {
  int first = 0, second = 0;
  float weight = 0;
};

std::vector<Tap> taps(int from, int to) {
  std::vector<Tap> list(static_cast<std::size_t>(to));
  const double scale = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    const double at = std::clamp((i + 0.5) * scale - 0.5, 0.0, static_cast<double>(from - 1));
    Tap& tap = list[static_cast<std::size_t>(i)];
    tap.first = static_cast<int>(at);
    tap.second = std::min(tap.first + 1, from - 1);
    tap.weight = static_cast<float>(at - tap.first);
  }
  return list;
}

// rows[i] = the source rows of `tap` mixed, and moved from 0..255 to -1..1.
void mix_rows(const Image& image, const Tap& tap, std::vector<float>& row) {
  const std::uint8_t* upper =
      image.pixels.data() + static_cast<std::size_t>(tap.first) * row.size();
  const std::uint8_t* lower =
      image.pixels.data() + static_cast<std::size_t>(tap.second) * row.size();
  constexpr float kScale = 2.0F / 255.0F;
  const float low = tap.weight * kScale;
  const float high = kScale - low;
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(upper[i]) * high + static_cast<float>(lower[i]) * low - 1.0F;
  }
}

}  // namespace

int scaled_width(const Image& image, int height, int max_width) {
  return scaled_width(PictureSize{image.width, image.height}, height, max_width);
}

int scaled_width(const PictureSize& size, int height, int max_width) {
  const double width = std::ceil(static_cast<double>(size.width) * height / size.height);
  return static_cast<int>(std::clamp(width, 1.0, static_cast<double>(max_width)));
}

void write_line(const Image& image, int height, int width, std::span<float> planes) {
  const auto stride = static_cast<std::size_t>(width);
  const std::size_t plane = static_cast<std::size_t>(height) * stride;
  OCRTUNE_CHECK(planes.size() == 3 * plane);
  const int line_width = scaled_width(image, height, width);
  const std::vector<Tap> columns = taps(image.width, line_width);
  const std::vector<Tap> rows = taps(image.height, height);
  std::vector<float> row(static_cast<std::size_t>(image.width) * 3);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    mix_rows(image, rows[y], row);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      float* out = planes.data() + channel * plane + y * stride;
      const float* in = row.data() + channel;
      for (const Tap& tap : columns) {
        const float first = in[static_cast<std::size_t>(tap.first) * 3];
        const float second = in[static_cast<std::size_t>(tap.second) * 3];
        *out++ = first + (second - first) * tap.weight;
      }
      std::fill(out, planes.data() + channel * plane + (y + 1) * stride, 0.0F);
    }
  }
}

}  // namespace ocrtune
