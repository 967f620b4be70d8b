#include "base/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("files_test"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }
  std::string folder_;
};

TEST_F(Files, WritesAndReadsBack) {
  const std::string path = join_path(folder_, "a.txt");
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(*list_directory(folder_), std::vector<std::string>{"a.txt"});
}

TEST_F(Files, FailedWriteKeepsTheOldFile) {
  const std::string path = join_path(folder_, "a.txt");
  ASSERT_TRUE(write_file(path, "old"));
  // A folder where the new file would be written makes the write fail, for root too.
  ASSERT_TRUE(make_directories(path + ".part"));
  const Status status = write_file(path, "new");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find(path), std::string::npos);
  EXPECT_EQ(*read_file(path), "old");
}

TEST_F(Files, FullDiskIsExhausted) {
  if (!path_exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string path = join_path(folder_, "a.txt");
  ASSERT_EQ(symlink("/dev/full", (path + ".part").c_str()), 0);
  const Status status = write_file(path, "new");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::exhausted);
}

TEST_F(Files, MissingFileSaysWhich) {
  const auto contents = read_file(join_path(folder_, "none"));
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().kind, ErrorKind::missing);
  EXPECT_NE(contents.error().what.find("none"), std::string::npos);
}

TEST_F(Files, RootPrefixesEveryPath) {
  ASSERT_TRUE(make_directories(join_path(folder_, "proc")));
  ASSERT_TRUE(write_file(join_path(folder_, "proc/stat"), "cpu 1\n"));
  const FileRoot root(folder_ + "/");
  EXPECT_EQ(*root.read("/proc/stat"), "cpu 1\n");
  EXPECT_FALSE(root.exists("/proc/meminfo"));
  EXPECT_FALSE(root.is_live());
  EXPECT_TRUE(FileRoot().is_live());
}

}  // namespace
}  // namespace ocrtune
