#include "trial/watch/file_follower.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

class FileFollowerTest : public ::testing::Test {
 public:
  void write(const char* text, std::ios::openmode how = std::ios::app) const {
    std::ofstream(path_, how) << text;
  }

  std::vector<std::string> read(FileFollower& follower) const {
    std::vector<std::string> lines;
    follower.read([&](const std::string& line) { lines.push_back(line); });
    return lines;
  }

 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("follow").value();
    path_ = join_path(folder_, "train.log");
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  std::string folder_, path_;
};

TEST_F(FileFollowerTest, AFileMayAppearLate) {
  FileFollower follower(path_);
  EXPECT_THAT(read(follower), ElementsAre());
  write("one\ntw");
  EXPECT_THAT(read(follower), ElementsAre("one"));
  write("o\n");
  EXPECT_THAT(read(follower), ElementsAre("two"));
}

// As a logger does that appends: the lines before are another run's.
TEST_F(FileFollowerTest, WhatStoodThereBeforeIsPassedOver) {
  write("of yesterday\n");
  FileFollower follower(path_);
  EXPECT_THAT(read(follower), ElementsAre());
  write("of now\n");
  EXPECT_THAT(read(follower), ElementsAre("of now"));
}

TEST_F(FileFollowerTest, AFileThatIsCutIsReadFromItsBegin) {
  write("of yesterday\n");
  FileFollower follower(path_);
  EXPECT_THAT(read(follower), ElementsAre());
  write("", std::ios::trunc);
  EXPECT_THAT(read(follower), ElementsAre());
  write("of now\n");
  EXPECT_THAT(read(follower), ElementsAre("of now"));
}

TEST_F(FileFollowerTest, AFileThatIsReplacedIsReadToItsEndAndThenTheNewOne) {
  write("one\n");
  FileFollower follower(path_);
  write("two\n");
  EXPECT_THAT(read(follower), ElementsAre("two"));
  write("three\n");
  ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  write("four\n");
  EXPECT_THAT(read(follower), ElementsAre("three"));
  EXPECT_THAT(read(follower), ElementsAre("four"));
}

}  // namespace
}  // namespace ocrtune
