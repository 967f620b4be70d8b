#include "core/infer/recognizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"
#include "core/comm/comm.h"
#include "core/data/resize.h"
#include "core/infer/decode.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

Image noise(int width, std::uint64_t seed) {
  Random random(seed);
  Image image{width, 32, {}};
  image.pixels.resize(static_cast<std::size_t>(width) * 32 * 3);
  for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
  return image;
}

RecognizerOptions small() {
  RecognizerOptions options;
  options.batch = 4;
  options.width = 128;
  return options;
}

const Alphabet& letters() {
  static const Alphabet kLetters = Alphabet::from_text("abcdefgh").value();
  return kLetters;
}

TEST(Recognizer, ALineReadsTheSameInAnyCompany) {
  auto recognizer = Recognizer::create(small(), letters()).value();
  std::vector<Image> images;
  for (int i = 0; i < 11; ++i) images.push_back(noise(10 + 17 * i, static_cast<std::uint64_t>(i)));
  const auto together = recognizer->read(images).value();
  ASSERT_EQ(together.size(), 11U);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto alone = recognizer->read(std::span(images).subspan(i, 1)).value();
    EXPECT_EQ(alone[0].text, together[i].text) << i;
    EXPECT_NEAR(alone[0].confidence, together[i].confidence, 1e-4) << i;
  }
  EXPECT_TRUE(recognizer->read({})->empty());
}

TEST(Recognizer, ReadsAsTheTrainerDoesFromItsCheckpoint) {
  const std::string folder = *make_temporary_directory("recognizer");
  const auto comm = make_single_comm();
  TrainerOptions training;
  training.classes = letters().classes();
  training.batch = 1;
  training.width = 128;
  training.seed = 5;
  auto trainer = Trainer::create(training, *comm).value();
  Batch batch;
  batch.count = 1;
  batch.width = 128;
  batch.labels = {{1, 2}};
  batch.images.resize(3 * 32 * 128);
  const Image image = noise(120, 9);
  write_line(image, 32, 128, batch.images);
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(trainer->step(batch));
  const std::string checkpoint = folder + "/a.ckpt";
  ASSERT_TRUE(trainer->save(checkpoint));
  const auto logits = trainer->logits(batch).value();
  const auto want = greedy_decode(logits, static_cast<int>(logits.size()) / letters().classes(), 1,
                                  letters().classes())[0];
  RecognizerOptions options = small();
  options.checkpoint = checkpoint;
  auto recognizer = Recognizer::create(options, letters()).value();
  const auto read = recognizer->read({&image, 1}).value();
  EXPECT_EQ(read[0].text, letters().decode(want.classes));
  EXPECT_NEAR(read[0].confidence, want.confidence, 1e-4);
  (void)remove_tree(folder);
}

TEST(WidestBucket, NoLineOfTheListIsSqueezed) {
  const std::string folder = *make_temporary_directory("widest_bucket");
  const auto picture = [&](int width) {
    const std::string path = folder + "/" + std::to_string(width) + ".png";
    EXPECT_TRUE(write_file(path, encode_png(noise(width, 1)).value()).ok());
    return path;
  };
  const std::string narrow = picture(40), wide = picture(400), strip = picture(4000);
  EXPECT_EQ(widest_bucket({narrow, wide}, 48), 640);
  EXPECT_EQ(widest_bucket({narrow, folder + "/none.png", folder}, 32), 64);
  EXPECT_EQ(widest_bucket({strip, wide}, 48), kWidestLine);
  EXPECT_EQ(widest_bucket({folder + "/none.png"}, 48), 0);
  (void)remove_tree(folder);
}

TEST(Recognizer, RefusesWhatDoesNotFit) {
  RecognizerOptions options = small();
  options.model = "none";
  EXPECT_EQ(Recognizer::create(options, letters()).error().kind, ErrorKind::usage);
  options = small();
  options.threads = 0;
  EXPECT_EQ(Recognizer::create(options, letters()).error().kind, ErrorKind::usage);
  options = small();
  options.checkpoint = "/nowhere/a.ckpt";
  const auto missing = Recognizer::create(options, letters());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::missing);
  EXPECT_THAT(missing.error().what, HasSubstr("/nowhere/a.ckpt"));
}

}  // namespace
}  // namespace ocrtune
