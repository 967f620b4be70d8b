#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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

TEST_F(Files, FailedWriteKeepsTheOldFileAndLeavesNothingBeside) {
  const std::string path = join_path(folder_, "a.txt");
  ASSERT_TRUE(write_file(path, "old"));
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 16, old.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file(path, std::string(64, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find(path), std::string::npos);
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(*list_directory(folder_), std::vector<std::string>{"a.txt"});
}

TEST_F(Files, FullDeviceIsExhaustedAndStaysADevice) {
  const std::string path = join_path(folder_, "full");
  if (mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0) GTEST_SKIP() << "may make no device";
  const Status status = write_file(path, "new");
  if (!status && status.error().kind == ErrorKind::denied) GTEST_SKIP() << "devices are not usable";
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::exhausted);
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
}

TEST_F(Files, FifoIsWrittenTo) {
  const std::string path = join_path(folder_, "fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(path, "page"));
  char block[16] = {};
  EXPECT_EQ(read(reader, block, sizeof block), 4);
  EXPECT_STREQ(block, "page");
  close(reader);
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISFIFO(facts.st_mode));
}

TEST_F(Files, DashIsStandardOutput) {
  testing::internal::CaptureStdout();
  const Status status = write_file("-", "page");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "page");
  EXPECT_TRUE(status);
  EXPECT_FALSE(path_exists("-"));
}

TEST_F(Files, LinkIsFollowedAndStaysALink) {
  const std::string target = join_path(folder_, "b.txt");
  const std::string link = join_path(folder_, "a.txt");
  ASSERT_EQ(symlink("b.txt", link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "made"));  // the link leads to nothing yet
  EXPECT_EQ(*read_file(target), "made");
  ASSERT_TRUE(write_file(link, "again"));
  EXPECT_EQ(*read_file(target), "again");
  struct stat facts {};
  ASSERT_EQ(lstat(link.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISLNK(facts.st_mode));
}

TEST_F(Files, ModeIsKept) {
  const std::string path = join_path(folder_, "a.txt");
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(write_file(path, "two"));
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(Files, WritersOfOnePathLeaveOneWholeFile) {
  const std::string path = join_path(folder_, "a.txt");
  const std::string big(1 << 20, 'x');
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] { failed += write_file(path, big) ? 0 : 1; });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(*read_file(path), big);
  EXPECT_EQ(*list_directory(folder_), std::vector<std::string>{"a.txt"});
}

// What a write that was killed left; a write of another process goes on.
TEST_F(Files, AbandonedPartIsRemovedByTheNextWrite) {
  const timespec old[2] = {{1, 0}, {1, 0}};
  for (const char* name :
       {".ocrtune.17.0.part", ".ocrtune.17.1.part", ".ocrtune.17.2.part", "mine.part"}) {
    std::ofstream(join_path(folder_, name)) << "half";
    if (name != std::string(".ocrtune.17.2.part")) {
      ::utimensat(AT_FDCWD, join_path(folder_, name).c_str(), old, 0);
    }
  }
  const int writer = ::open(join_path(folder_, ".ocrtune.17.1.part").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(write_file(join_path(folder_, "file"), "whole"));
  ::close(writer);
  auto names = *list_directory(folder_);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".ocrtune.17.1.part", ".ocrtune.17.2.part", "file",
                                             "mine.part"}));
}

TEST_F(Files, FolderIsNoFile) {
  const Status status = write_file(folder_, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what.find(folder_ + " is a folder"), 0U);
}

TEST_F(Files, MakesOnlyTheLastFolder) {
  EXPECT_EQ(*make_folder(join_path(folder_, "a/")), true);
  EXPECT_EQ(*make_folder(join_path(folder_, "a")), false);
  const auto deep = make_folder(join_path(folder_, "b/c"));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().kind, ErrorKind::missing);
  EXPECT_NE(deep.error().what.find("mkdir -p"), std::string::npos);
  EXPECT_FALSE(path_exists(join_path(folder_, "b")));
  ASSERT_TRUE(write_file(join_path(folder_, "f"), ""));
  EXPECT_EQ(make_folder(join_path(folder_, "f")).error().what,
            join_path(folder_, "f") + " is a file, not a folder");
}

TEST_F(Files, DataDirectoryIsForThisUserAlone) {
  const char* const old = std::getenv("XDG_DATA_HOME");
  const std::string kept = old == nullptr ? "" : old;
  ASSERT_EQ(setenv("XDG_DATA_HOME", join_path(folder_, "x/y").c_str(), 1), 0);
  ASSERT_TRUE(make_data_directory());
  struct stat facts {};
  ASSERT_EQ(stat(default_data_directory().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_data_directory());
  old == nullptr ? unsetenv("XDG_DATA_HOME") : setenv("XDG_DATA_HOME", kept.c_str(), 1);
}

TEST_F(Files, MissingFileSaysWhich) {
  const auto contents = read_file(join_path(folder_, "none"));
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().kind, ErrorKind::missing);
  EXPECT_NE(contents.error().what.find("none"), std::string::npos);
}

TEST_F(Files, FileInAClosedFolderIsNotSaidToBeMissing) {
  const std::string closed = join_path(folder_, "closed"), path = join_path(closed, "file");
  ASSERT_TRUE(make_directories(closed));
  ASSERT_TRUE(write_file(path, "x"));
  EXPECT_TRUE(check_there(path));
  EXPECT_EQ(check_there(path + "s").error().what, path + "s is not there");
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  const uid_t user = ::geteuid();
  if (user == 0) {  // who may read everything
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const Status there = check_there(path);
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().kind, ErrorKind::denied);
  EXPECT_EQ(there.error().what, path + ": Permission denied");
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
