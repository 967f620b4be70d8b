// Reading on the GPU core's networks, run by loops on the host: the same text as on the CPUs.
#include "core/gpu/device_reader.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/infer/recognizer.h"
#include "tests/support/host_executor.h"

namespace ocrtune {
namespace {

std::vector<Image> noise(int count) {
  std::vector<Image> images;
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<std::uint64_t>(i));
    Image image{20 + 30 * (i % 3), 32, {}};
    image.pixels.resize(static_cast<std::size_t>(image.width * image.height * 3));
    for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
    images.push_back(std::move(image));
  }
  return images;
}

TEST(DeviceReader, ReadsWhatTheCpusRead) {
  RecognizerOptions options;
  options.model = "crnn-mv3";
  options.backend = "reference";
  options.batch = 2;
  options.width = 128;
  const auto alphabet = Alphabet::from_text("0123456789abcdef");
  ASSERT_TRUE(alphabet);
  HostExecutor executor;
  device::DeviceReader<HostExecutor> reader(executor);
  const auto ours = Recognizer::create_on(options, *alphabet, reader);
  ASSERT_TRUE(ours) << ours.error().what;
  const auto theirs = Recognizer::create(options, *alphabet);
  ASSERT_TRUE(theirs);
  const std::vector<Image> images = noise(3);  // two widths, so two shapes
  const auto a = (*ours)->read(images), b = (*theirs)->read(images);
  ASSERT_TRUE(a) << a.error().what;
  ASSERT_TRUE(b);
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ((*a)[i].text, (*b)[i].text) << i;
    EXPECT_NEAR((*a)[i].confidence, (*b)[i].confidence, 1e-3) << i;
  }
  const auto error = (*ours)->check_against_reference();
  ASSERT_TRUE(error);
  EXPECT_LT(*error, 1e-3);
}

}  // namespace
}  // namespace ocrtune
