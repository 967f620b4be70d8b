// A recogniser in a framework's process, played by tests/support/played_framework.py.
#include "engine/work/framework_recognizer.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "core/data/image_file.h"
#include "trial/workloads/engine_infer/framework_answer.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FrameworkRecognizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_executable("python3")) GTEST_SKIP() << "no python3 here";
    std::signal(SIGPIPE, SIG_IGN);  // as every command does
    folder_ = *make_temporary_directory("framework");
    ASSERT_TRUE(make_directories(folder_ + "/bin").ok());
    const std::string python = folder_ + "/bin/python";
    const std::string played = OCRTUNE_SOURCE_DIR + "/tests/support/played_framework.py";
    ASSERT_TRUE(write_file(python, "#!/bin/sh\nexec python3 " + played + " \"$@\"\n").ok());
    ASSERT_EQ(std::system(("chmod +x " + python).c_str()), 0);
    ::setenv("VIRTUAL_ENV", folder_.c_str(), 1);
    options_.model = "rec.onnx";
    options_.backend = "onnxruntime";
    options_.height = 8;
    options_.width = 64;
    options_.batch = 4;
  }
  void TearDown() override {
    ::unsetenv("VIRTUAL_ENV");
    if (!folder_.empty()) (void)remove_tree(folder_);
  }

  // As high as the lines are read, so that its width stays.
  static Image picture(int width) {
    return {width, 8, std::vector<std::uint8_t>(static_cast<std::size_t>(width) * 8 * 3, 255)};
  }
  Result<std::vector<ReadText>> read(const std::vector<Image>& images) const {
    const auto alphabet = OCRTUNE_TRY(Alphabet::from_text("0123"));
    const auto recognizer = OCRTUNE_TRY(make_framework_recognizer(options_, alphabet));
    return recognizer->read(images);
  }

  std::string folder_;
  RecognizerOptions options_;
};

TEST_F(FrameworkRecognizerTest, EachLineHasTheTextOfItsPixels) {
  std::vector<Image> images;
  for (const int width : {3, 4, 5, 6, 8, 9, 10}) images.push_back(picture(width));  // two batches
  const auto texts = read(images);
  ASSERT_TRUE(texts) << texts.error().what;
  std::string all;
  for (const ReadText& one : *texts) all += one.text;
  EXPECT_EQ(all, "0120201");
  EXPECT_DOUBLE_EQ(texts->front().confidence, 0.5);
}

TEST_F(FrameworkRecognizerTest, ItsErrorAndItsDeathAreErrorsOfItsName) {
  const auto refused = read({picture(7)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "onnxruntime: one shape too many");
  const auto dead = read({picture(11)});
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().what, "onnxruntime ended: exit code 9");
}

TEST_F(FrameworkRecognizerTest, WhatItCannotComputeIsRefusedBeforeItStarts) {
  options_.precision = "int8";
  options_.backend = "paddle";
  EXPECT_THAT(read({picture(3)}).error().what, HasSubstr("computes in fp32, not in int8"));
  options_.precision = "fp32";
  options_.backend = "openvino+no-arena";
  EXPECT_THAT(read({picture(3)}).error().what, HasSubstr("its options are streams-2"));
  options_.backend = "openvino";
  options_.model = "crnn";
  EXPECT_THAT(read({picture(3)}).error().what, HasSubstr("--model FILE.onnx"));
}

TEST_F(FrameworkRecognizerTest, AFileInInt8IsMadeOfEachPicture) {
  std::vector<std::string> pictures;
  for (int i = 0; i < 3; ++i) {
    pictures.push_back(fmt::format("{}/{}.png", folder_, i));
    const auto png = encode_png(picture(20 + i));
    ASSERT_TRUE(png);
    ASSERT_TRUE(write_file(pictures.back(), *png));
  }
  const std::string file = folder_ + "/rec.int8.onnx";
  const Status made = quantize_recognizer(options_, pictures, file);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(*read_file(file, 10), "3");
  const Status few = quantize_recognizer(options_, {pictures[0]}, file);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().what, "too few lines");
}

TEST_F(FrameworkRecognizerTest, EachEngineThatIsOutHasItsOwnReason) {
  std::vector<const FrameworkRow*> all;
  for (const FrameworkRow& row : framework_table()) all.push_back(&row);
  const auto answers = ask_frameworks(all, "rec.onnx", 8, 64);
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].version, "9.9");
  EXPECT_EQ(answers[0].refusal, "");
  EXPECT_EQ(answers[1].refusal, "No conversion rule found for operations: Fooify");
  EXPECT_FALSE(answers[1].missing);
  EXPECT_TRUE(answers[2].missing);
  EXPECT_THAT(answers[2].refusal,
              AllOf(HasSubstr(folder_ + "/bin/python"), HasSubstr("pip install paddlepaddle")));
  EXPECT_EQ(answers[3].refusal, "it ended: exit code 3");
}

}  // namespace
}  // namespace ocrtune
