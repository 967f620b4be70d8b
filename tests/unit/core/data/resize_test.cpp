#include "core/data/resize.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

Image flat(int width, int height, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i)
    image.pixels.insert(image.pixels.end(), {red, green, blue});
  return image;
}

std::vector<float> line_of(const Image& image, int height, int width) {
  std::vector<float> planes(static_cast<std::size_t>(3 * height * width), 99.0F);
  write_line(image, height, width, planes);
  return planes;
}

TEST(ScaledWidth, KeepsTheAspectWithinBounds) {
  EXPECT_EQ(scaled_width(flat(100, 50, 0, 0, 0), 32, 320), 64);
  EXPECT_EQ(scaled_width(flat(101, 50, 0, 0, 0), 32, 320), 65);
  EXPECT_EQ(scaled_width(flat(2000, 10, 0, 0, 0), 32, 320), 320);
  EXPECT_EQ(scaled_width(flat(1, 500, 0, 0, 0), 32, 320), 1);
}

TEST(WriteLine, NormalisesAndPadsWithZeros) {
  const auto planes = line_of(flat(10, 20, 255, 0, 51), 4, 6);
  // 10 x 20 at height 4 is 2 wide; four columns of padding.
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) {
      const auto at = static_cast<std::size_t>(y * 6 + x);
      EXPECT_NEAR(planes[at], x < 2 ? 1.0F : 0.0F, 1e-6);
      EXPECT_NEAR(planes[24 + at], x < 2 ? -1.0F : 0.0F, 1e-6);
      EXPECT_NEAR(planes[48 + at], x < 2 ? -0.6F : 0.0F, 1e-6);
    }
  }
}

TEST(WriteLine, SameSizeIsACopy) {
  Image image{5, 3, {}};
  for (int i = 0; i < 45; ++i) image.pixels.push_back(static_cast<std::uint8_t>(i * 5));
  const auto planes = line_of(image, 3, 5);
  for (std::size_t i = 0; i < 15; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const double want = image.pixels[i * 3 + c] / 255.0 * 2 - 1;
      EXPECT_NEAR(planes[c * 15 + i], want, 1e-6);
    }
  }
}

// Golden numbers: cv2.resize([[0, 100, 200, 50]], (8, 1), INTER_LINEAR) and (2, 1).
TEST(WriteLine, InterpolatesAsOpenCv) {
  Image image{4, 1, {}};
  for (int level : {0, 100, 200, 50}) {
    for (int c = 0; c < 3; ++c) image.pixels.push_back(static_cast<std::uint8_t>(level));
  }
  // The height doubles with the width; both rows are equal.
  const auto planes = line_of(image, 2, 8);
  const double want[] = {0, 25, 75, 125, 175, 162.5, 87.5, 50};
  for (std::size_t x = 0; x < 8; ++x) {
    EXPECT_NEAR((planes[x] + 1) * 127.5, want[x], 1e-3) << x;
    EXPECT_NEAR(planes[8 + x], planes[x], 1e-6);
  }
  Image tall{4, 2, image.pixels};
  tall.pixels.insert(tall.pixels.end(), image.pixels.begin(), image.pixels.end());
  const auto half = line_of(tall, 1, 2);
  EXPECT_NEAR((half[0] + 1) * 127.5, 50, 1e-3);
  EXPECT_NEAR((half[1] + 1) * 127.5, 125, 1e-3);
}

TEST(WriteLine, ExtremeShapes) {
  for (const auto& [width, height] : {std::pair{1, 1}, {20'000, 8}, {1, 3000}}) {
    for (float value : line_of(flat(width, height, 7, 7, 7), 32, 64)) {
      EXPECT_GE(value, -1.0F);
      EXPECT_LE(value, 1.0F);
    }
  }
}

}  // namespace
}  // namespace ocrtune
