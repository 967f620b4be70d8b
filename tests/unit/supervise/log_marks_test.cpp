#include "extras/supervise/log_marks.h"

#include <sys/stat.h>

#include <cstdio>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

const char* const kNoMemory = "RuntimeError: CUDA out of memory\n";
const char* const kFault = "Fatal Python error: Segmentation fault\n";

class LogMarksTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("log_marks"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void write(const std::string& name, const std::string& text, const char* mode = "a") const {
    std::FILE* file = std::fopen(path(name).c_str(), mode);
    ASSERT_NE(file, nullptr);
    std::fputs(text.c_str(), file);
    ASSERT_EQ(std::fclose(file), 0);
  }
  // "FILE:LINE TEXT" of the lines that tell of a failure.
  std::set<std::string> added(const LogMarks& marks) const {
    std::set<std::string> all;
    for (const LogScan& scan : marks.scan_added()) {
      for (const Finding& finding : scan.findings) {
        all.insert(base_name(scan.file) + ":" + std::to_string(finding.first.number) + " " +
                   finding.first.text);
      }
    }
    return all;
  }

  std::string folder_;
};

TEST_F(LogMarksTest, OnlyWhatWasAddedCounts) {
  write("train.log", std::string("start\n") + kNoMemory);
  const LogMarks marks({path("train.log")});
  EXPECT_TRUE(marks.scan_added().empty());
  write("train.log", std::string("start\n") + kFault);
  EXPECT_THAT(added(marks), ElementsAre("train.log:4 Fatal Python error: Segmentation fault"));
}

TEST_F(LogMarksTest, ARotatedLogIsNoNewOne) {
  write("train.log", kNoMemory);
  const LogMarks marks({folder_});
  ASSERT_EQ(std::rename(path("train.log").c_str(), path("train-1.log").c_str()), 0);
  write("train.log", kFault);
  EXPECT_THAT(added(marks), ElementsAre("train.log:1 Fatal Python error: Segmentation fault"));
}

TEST_F(LogMarksTest, ALogThatIsWrittenAnewCountsAsAWhole) {
  write("train.log", std::string("a long beginning\n") + kNoMemory);
  const LogMarks marks({folder_, path("train.log")});
  write("train.log", kFault, "w");
  EXPECT_THAT(added(marks), ElementsAre("train.log:1 Fatal Python error: Segmentation fault"));
  write("train.log", std::string(900, '.') + "\n");
  EXPECT_THAT(added(marks), ElementsAre("train.log:1 Fatal Python error: Segmentation fault"));
}

TEST_F(LogMarksTest, AFifoIsLeftOut) {
  ASSERT_EQ(::mkfifo(path("pipe.log").c_str(), 0600), 0);
  EXPECT_TRUE(LogMarks({folder_, path("none")}).scan_added().empty());
}

}  // namespace
}  // namespace ocrtune
