#include "core/data/image_file.h"

#include <png.h>
#include <sys/stat.h>

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

Image gradient(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.pixels.push_back(static_cast<std::uint8_t>(x * 255 / std::max(width - 1, 1)));
      image.pixels.push_back(static_cast<std::uint8_t>(y * 255 / std::max(height - 1, 1)));
      image.pixels.push_back(128);
    }
  }
  return image;
}

// A PNG of 2 x 1 pixels in any of libpng's formats, by its full interface.
std::string small_png(int colour_type, int depth, std::vector<std::uint8_t> row,
                      const std::vector<png_color>& palette = {}) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop facts = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp self, png_bytep block, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(self))
            ->append(reinterpret_cast<const char*>(block), size);
      },
      nullptr);
  png_set_IHDR(png, facts, 2, 1, depth, colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  if (!palette.empty()) png_set_PLTE(png, facts, palette.data(), static_cast<int>(palette.size()));
  png_write_info(png, facts);
  png_write_row(png, row.data());
  png_write_end(png, facts);
  png_destroy_write_struct(&png, &facts);
  return bytes;
}

// The bytes with a new width and height in the PNG header, its checksum made right.
std::string with_png_size(std::string png, std::uint32_t width, std::uint32_t height) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i)
      png[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  put(29, ~crc);
  return png;
}

std::vector<std::string> both_kinds(const Image& image) {
  return {encode_png(image).value(), encode_jpeg(image, 80).value()};
}

TEST(ImageFile, PngComesBackExactly) {
  for (const auto& [width, height] : {std::pair{1, 1}, {320, 32}, {3, 200}}) {
    const Image image = gradient(width, height);
    const auto back = decode_image(*encode_png(image));
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(back->width, width);
    EXPECT_EQ(back->height, height);
    EXPECT_EQ(back->pixels, image.pixels);
  }
}

TEST(ImageFile, JpegComesBackNearly) {
  const Image image = gradient(320, 32);
  const auto back = decode_image(*encode_jpeg(image, 95));
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_EQ(back->pixels.size(), image.pixels.size());
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(back->pixels[i], image.pixels[i], 12) << i;
  }
}

TEST(ImageFile, EveryKindOfPngBecomesRgb) {
  using Pixels = std::vector<std::uint8_t>;
  const auto pixels = [](const std::string& png) { return decode_image(png)->pixels; };
  EXPECT_EQ(pixels(small_png(PNG_COLOR_TYPE_GRAY, 8, {0, 200})), (Pixels{0, 0, 0, 200, 200, 200}));
  EXPECT_EQ(pixels(small_png(PNG_COLOR_TYPE_GRAY, 1, {0x40})), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(pixels(small_png(PNG_COLOR_TYPE_PALETTE, 8, {1, 0}, {{9, 8, 7}, {1, 2, 3}})),
            (Pixels{1, 2, 3, 9, 8, 7}));
  EXPECT_EQ(pixels(small_png(PNG_COLOR_TYPE_RGB_ALPHA, 8, {10, 20, 30, 255, 10, 20, 30, 0})),
            (Pixels{10, 20, 30, 255, 255, 255}));
  EXPECT_EQ(pixels(small_png(PNG_COLOR_TYPE_GRAY_ALPHA, 8, {50, 255, 50, 0})),
            (Pixels{50, 50, 50, 255, 255, 255}));
  const auto deep = decode_image(
      small_png(PNG_COLOR_TYPE_RGB, 16, {255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}));
  ASSERT_TRUE(deep) << deep.error().what;
  EXPECT_EQ(deep->pixels, (Pixels{255, 0, 0, 0, 255, 255}));
}

TEST(ImageFile, CutFilesAreErrorsAtEveryLength) {
  const Image image = gradient(64, 32);
  for (const std::string& whole : both_kinds(image)) {
    // The last bytes are the end marks, without which the picture is still whole.
    for (std::size_t length = 0; length + 14 < whole.size(); length += 7) {
      const auto cut = decode_image(std::string_view(whole).substr(0, length));
      ASSERT_FALSE(cut) << length << " of " << whole.size() << " bytes were accepted";
      EXPECT_EQ(cut.error().kind, ErrorKind::invalid);
    }
  }
}

TEST(ImageFile, FlippedBytesNeverCrash) {
  Random random(5);
  const Image image = gradient(64, 32);
  for (const std::string& whole : both_kinds(image)) {
    for (int round = 0; round < 500; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 4; ++i) {
        const auto at = random.integer(2, static_cast<std::int64_t>(bytes.size()) - 1);
        bytes[static_cast<std::size_t>(at)] = static_cast<char>(random.next());
      }
      const auto decoded = decode_image(bytes);
      if (decoded) {
        const auto& [width, height, pixels] = *decoded;
        ASSERT_EQ(pixels.size(),
                  static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
      }
    }
  }
}

TEST(ImageFile, HugeClaimsAreRefusedBeforeAllocation) {
  const std::string png = with_png_size(*encode_png(gradient(4, 4)), 100'000, 100'000);
  EXPECT_THAT(decode_image(png).error().what, HasSubstr("100000 x 100000 pixels are too many"));
  std::string jpeg = *encode_jpeg(gradient(16, 16), 90);
  const std::size_t frame = jpeg.find("\xFF\xC0");  // then length, depth, height, width
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\xF0';
  EXPECT_THAT(decode_image(jpeg).error().what, HasSubstr("61680 x 61680 pixels are too many"));
}

TEST(ImageFile, OtherFilesAreNamed) {
  EXPECT_THAT(decode_image("").error().what, HasSubstr("empty"));
  EXPECT_THAT(decode_image("GIF89a").error().what, HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(read_image("/nowhere/a.png").error().what, HasSubstr("/nowhere/a.png"));
  EXPECT_EQ(read_image("/nowhere/a.png").error().kind, ErrorKind::missing);
  EXPECT_FALSE(read_image("/tmp"));
  EXPECT_FALSE(read_image("/dev/zero"));
}

TEST(ImageFile, APipeDoesNotHang) {
  const std::string folder = *make_temporary_directory("image");
  const std::string pipe = folder + "/pipe.png";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_image(pipe).error().what, HasSubstr("not a file"));
  (void)remove_tree(folder);
}

TEST(PictureSize, IsReadFromTheHead) {
  const Image image{37, 21, std::vector<std::uint8_t>(37 * 21 * 3, 90)};
  for (const std::string& bytes : {*encode_png(image), *encode_jpeg(image, 80)}) {
    const auto size = picture_size(bytes);
    ASSERT_TRUE(size);
    EXPECT_EQ(size->width, 37);
    EXPECT_EQ(size->height, 21);
    for (std::size_t length = 0; length < 24; ++length) {
      EXPECT_FALSE(picture_size(std::string_view(bytes).substr(0, length))) << length;
    }
  }
  EXPECT_EQ(picture_size(encode_png(image)->substr(0, 24))->width, 37);
}

// Camera data before the frame header, and a length that leads nowhere.
TEST(PictureSize, PassesOverOtherSegments) {
  const Image image{9, 5, std::vector<std::uint8_t>(9 * 5 * 3, 200)};
  const std::string plain = *encode_jpeg(image, 80);
  const std::string camera = std::string("\xFF\xE1\x20\x02", 4) + std::string(0x2000, 'x');
  const std::string bytes = plain.substr(0, 2) + camera + plain.substr(2);
  EXPECT_EQ(picture_size(bytes)->width, 9);
  EXPECT_FALSE(picture_size(bytes.substr(0, 4096)));
  EXPECT_FALSE(picture_size(std::string("\xFF\xD8\xFF\xE1\xFF\xFF", 6) + std::string(40, 'x')));
  EXPECT_FALSE(picture_size(std::string(100, '\xFF')));
}

}  // namespace
}  // namespace ocrtune
