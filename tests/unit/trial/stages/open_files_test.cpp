#include "trial/stages/open_files.h"

#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A saved /proc of a loader, and folders of pictures of 100 bytes.
class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = real_path(make_temporary_directory("open_files").value()).value();
    ASSERT_TRUE(make_directories(folder_ + "/proc/10/fd"));
    descriptor(0, "/dev/null");
    descriptor(1, "/dev/null");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void pictures(const std::string& name, int count) const {
    ASSERT_TRUE(make_directories(folder_ + "/" + name));
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(write_file(picture(name, i), std::string(100, 'x')));
    }
    ASSERT_TRUE(write_file(folder_ + "/" + name + "/labels.txt", "a"));
  }
  std::string picture(const std::string& name, int number) const {
    return fmt::format("{}/{}/{}.jpg", folder_, name, number);
  }
  std::string link(int number) const { return fmt::format("{}/proc/10/fd/{}", folder_, number); }
  void descriptor(int number, const std::string& target) const {
    ASSERT_EQ(::symlink(target.c_str(), link(number).c_str()), 0);
  }
  void close_again(int number) const { ASSERT_EQ(::unlink(link(number).c_str()), 0); }

  StageUse seen() const {
    StageUse use;
    files_.fill(use);
    return use;
  }

  std::string folder_;
  OpenFiles files_;
};

// Each picture is closed before all descriptors are looked at again.
TEST_F(OpenFilesTest, APictureThatIsOpenForAMomentStandsForItsFolder) {
  files_ = OpenFiles(FileRoot(folder_));
  pictures("pages", 40);
  files_.look(10, true);
  files_.glance();
  EXPECT_EQ(seen().opened_count, 0);
  descriptor(3, picture("pages", 7));  // 2 is free, too: another thread has it
  files_.glance();
  close_again(3);
  files_.look(10, true);
  EXPECT_EQ(seen().opened_count, 40) << "the labels are another kind";
  EXPECT_EQ(seen().opened_bytes, 4000u);
  EXPECT_THAT(*seen().opened_files, ElementsAre(picture("pages", 7)));
}

TEST_F(OpenFilesTest, GlancesAreOfThoseThatReadMuch) {
  files_ = OpenFiles(FileRoot(folder_));
  pictures("pages", 3);
  files_.look(10, true);
  files_.look(10, false);
  descriptor(2, picture("pages", 0));
  files_.glance();
  EXPECT_THAT(*seen().opened_files, IsEmpty());
}

// Workers of an epoch that are gone, each under a number of its own.
TEST_F(OpenFilesTest, ThoseThatEndedMakeRoomForTheNext) {
  files_ = OpenFiles(FileRoot(folder_));
  pictures("pages", 3);
  for (int pid = 11; pid < 50; ++pid) {
    ASSERT_TRUE(make_directories(fmt::format("{}/proc/{}/fd", folder_, pid)));
    files_.look(pid, true);
  }
  files_.forget_others({10});
  files_.look(10, true);
  descriptor(2, picture("pages", 1));
  files_.glance();
  EXPECT_THAT(*seen().opened_files, ElementsAre(picture("pages", 1)));
}

// One that stays open is read alone: a model beside other models.
TEST_F(OpenFilesTest, TwoThatStayOpenStandForTheirFolder) {
  files_ = OpenFiles(FileRoot(folder_));
  pictures("shards", 10);
  descriptor(5, picture("shards", 1));
  files_.look(10, true);
  files_.glance();
  EXPECT_EQ(seen().opened_count, 1);
  close_again(5);
  descriptor(5, picture("shards", 2));
  files_.look(10, true);
  EXPECT_EQ(seen().opened_count, 10);
}

TEST_F(OpenFilesTest, FoldersOfClassesAreReadTogether) {
  files_ = OpenFiles(FileRoot(folder_));
  for (const char* name : {"train/a", "train/b", "train/c"}) pictures(name, 5);
  pictures("other/d", 5);
  files_.look(10, true);
  for (const char* name : {"train/a", "train/c"}) {
    descriptor(2, picture(name, 0));
    files_.glance();
    close_again(2);
  }
  EXPECT_EQ(seen().opened_count, 15);
  EXPECT_EQ(seen().opened_bytes, 1500u);
}

}  // namespace
}  // namespace ocrtune
