// ocrtune train as a user types it: interrupted, resumed, refused.
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "core/graph/checkpoint.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TrainCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("train_command");
    Process draw =
        start_ocrtune({"make-data", folder_ + "/lines", "--count", "24", "--max-length", "2"});
    if (finish(draw) != 0) FAIL() << draw.output().contents();
  }
  void TearDown() override { (void)remove_tree(folder_); }

  std::vector<std::string> train(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "train", folder_ + "/lines", "--batch",   "2", "--width", "32", "--threads",
        "1",     "--checkpoint",     checkpoint()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string checkpoint() const { return folder_ + "/a.ckpt"; }
  std::string folder_;
};

TEST_F(TrainCommand, AnInterruptKeepsWhatIsLearnedAndAutoGoesOn) {
  Process process = start_ocrtune(train({"--steps", "1000000", "--report-every", "1"}));
  while (process.output().contents().find("step 2 ") == std::string::npos) {
    ASSERT_FALSE(process.wait(0.05)) << process.output().contents();
  }
  process.signal(SIGINT);
  EXPECT_EQ(finish(process), 130) << process.output().contents();
  EXPECT_THAT(process.output().contents(), HasSubstr("--resume auto"));
  const std::int64_t steps = read_checkpoint_head(checkpoint())->steps;
  EXPECT_GE(steps, 2);
  Process again = start_ocrtune(train({"--steps", std::to_string(steps + 2), "--resume", "auto",
                                       "--evaluate", folder_ + "/lines"}));
  EXPECT_EQ(finish(again), 0) << again.output().contents();
  EXPECT_EQ(read_checkpoint_head(checkpoint())->steps, steps + 2);
  EXPECT_THAT(again.output().contents(), HasSubstr("held out: label_error_rate"));
}

TEST_F(TrainCommand, MissingImagesAreCountedBeforeTheStart) {
  ASSERT_TRUE(remove_tree(folder_ + "/lines/images"));
  Process process = start_ocrtune(train({"--steps", "1"}));
  EXPECT_EQ(finish(process), 3);
  EXPECT_THAT(process.output().contents(), HasSubstr("not found (24 of 24 missing)"));
}

TEST_F(TrainCommand, WrongUseIsOneLine) {
  const std::vector<std::pair<std::vector<std::string>, int>> cases = {
      {{"--steps", "0"}, 2},
      {{"--model", "cnn"}, 2},
      {{"--learning-rate", "nan"}, 2},
      {{"--learning-rate", "0"}, 2},
      {{"--schedule", "cosin"}, 2},
      {{"--schedule", "cosine", "--warm-up", "1000", "--steps", "1000"}, 2},
      {{"--warm-up", "-1"}, 2},
      {{"--weight-decay", "inf"}, 2},
      {{"--clip-norm", "-1"}, 2},
      {{"--batch", "100"}, 2},
      {{"--alphabet", "abc"}, 3},
      {{"--steps", "2", "--resume", "/nowhere/b.ckpt"}, 3},
      {{"--steps", "2", "--evaluate", "/nowhere"}, 3},
  };
  for (const auto& [flags, code] : cases) {
    Process process = start_ocrtune(train(flags));
    EXPECT_EQ(finish(process), code) << flags[0] << ": " << process.output().contents();
    EXPECT_THAT(process.output().contents(), HasSubstr("ocrtune"));
  }
  Process missing = start_ocrtune({"train", "/nowhere"});
  EXPECT_EQ(finish(missing), 3);
  EXPECT_THAT(missing.output().contents(), HasSubstr("/nowhere"));
}

TEST_F(TrainCommand, TrainsByASchedule) {
  Process process = start_ocrtune(train({"--steps", "3", "--schedule", "cosine", "--warm-up", "1",
                                         "--weight-decay", "0.05", "--clip-norm", "5"}));
  EXPECT_EQ(finish(process), 0) << process.output().contents();
  EXPECT_EQ(read_checkpoint_head(checkpoint())->steps, 3);
}

TEST_F(TrainCommand, ADivergedRunNamesItsStep) {
  Process process = start_ocrtune(train({"--steps", "100", "--learning-rate", "1e30"}));
  EXPECT_EQ(finish(process), 3) << process.output().contents();
  EXPECT_THAT(process.output().contents(), HasSubstr("the training diverged: "));
  EXPECT_THAT(process.output().contents(), Not(HasSubstr("labels too long")));
}

}  // namespace
}  // namespace ocrtune
