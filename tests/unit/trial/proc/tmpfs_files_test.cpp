#include "trial/proc/tmpfs_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(TmpfsPaths, AreThoseOfMountsInMemory) {
  const TmpfsPaths paths(
      "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n"
      "30 22 0:25 / /tmp rw - tmpfs tmpfs rw\n"
      "31 30 8:1 / /tmp/disk rw - ext4 /dev/sda1 rw\n"
      "32 22 0:26 / /mnt/ram\\040disk rw master:3 - ramfs none rw\n"
      "33 22 0:27 / /run rw - tmpfs tmpfs rw\n"
      "34 33 8:2 / /run rw - ext4 /dev/sdb rw\nbroken\n");
  EXPECT_TRUE(paths.contain("/tmp/a/b"));
  EXPECT_FALSE(paths.contain("/tmpfile"));
  EXPECT_FALSE(paths.contain("/tmp/disk/a"));
  EXPECT_TRUE(paths.contain("/mnt/ram disk/a"));
  EXPECT_FALSE(paths.contain("/run/a")) << "another file system was mounted over it";
  EXPECT_FALSE(paths.contain("/home/a"));
  EXPECT_FALSE(TmpfsPaths().contain("/tmp/a"));
}

// A folder in memory for one test.
class InMemory : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = "/dev/shm/ocrtune_test_tmpfs_" + std::to_string(::getpid());
    if (::mkdir(folder_.c_str(), 0700) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
    put("old", 2);
    ::usleep(20000);  // the kernel's stamps are 4 ms coarse
  }
  void TearDown() override {
    if (is_directory(folder_)) {
      EXPECT_TRUE(remove_tree(folder_));
    }
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void put(const std::string& name, std::uint64_t mebibytes) const {
    ASSERT_TRUE(write_file(path(name), std::string(mebibytes * kMiB, 'x')));
  }
  ShmFile open_file(const std::string& name) const {
    struct stat facts {};
    EXPECT_EQ(::stat(path(name).c_str(), &facts), 0);
    ShmFile file;
    file.path = path(name);
    file.device = facts.st_dev;
    file.inode = facts.st_ino;
    file.bytes = static_cast<std::uint64_t>(facts.st_blocks) * 512;
    file.writable = true;
    return file;
  }

  std::string folder_;
};

TEST_F(InMemory, WhatWasWrittenCountsOnceItIsClosed) {
  TmpfsFiles files;
  EXPECT_EQ(files.closed_bytes({}), 0U);
  put("new", 3);
  put("beside", 1);
  const ShmFile open = open_file("new");
  files.note({open});
  EXPECT_EQ(files.bytes_before(open), 0U);
  EXPECT_EQ(files.closed_bytes({open}), 1 * kMiB) << "what was made in the same folder";
  EXPECT_EQ(files.closed_bytes({}), 4 * kMiB) << "without the old file";
  ASSERT_EQ(::unlink(path("new").c_str()), 0);
  EXPECT_EQ(files.closed_bytes({}), 1 * kMiB);
}

TEST_F(InMemory, OfWhatWasThereBeforeTheGrowthCounts) {
  TmpfsFiles files;
  files.note({open_file("old")});
  EXPECT_EQ(files.closed_bytes({}), 0U);
  std::FILE* grows = std::fopen(path("old").c_str(), "ae");
  ASSERT_NE(grows, nullptr);
  const std::string more(3 * kMiB, 'x');
  ASSERT_EQ(std::fwrite(more.data(), 1, more.size(), grows), more.size());
  std::fclose(grows);
  EXPECT_EQ(files.closed_bytes({}), 3 * kMiB);
}

// A loader that hands each batch over in a file of its own makes millions of them in a week.
TEST_F(InMemory, WhatIsGoneIsForgotten) {
  TmpfsFiles files;
  for (int i = 0; i < 20; ++i) {
    put("batch", 1);
    files.note({open_file("batch")});
    ASSERT_EQ(::unlink(path("batch").c_str()), 0);
    EXPECT_EQ(files.closed_bytes({}), 0U);
  }
  EXPECT_EQ(files.noted(), 0U);
  ShmFile renamed = open_file("old");
  files.note({renamed});
  ASSERT_EQ(std::rename(path("old").c_str(), path("renamed").c_str()), 0);
  renamed.path = path("renamed");
  EXPECT_EQ(files.closed_bytes({renamed}), 0U);
  EXPECT_EQ(files.bytes_before(renamed), 2 * kMiB) << "it is still open";
}

TEST_F(InMemory, AFolderWhereEverybodyWritesIsNotTheTrials) {
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  TmpfsFiles files;
  put("new", 1);
  put("another's", 2);
  files.note({open_file("new")});
  EXPECT_EQ(files.closed_bytes({}), 1 * kMiB);
}

}  // namespace
}  // namespace ocrtune
