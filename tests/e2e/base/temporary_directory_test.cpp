// Temporary folders of processes that were killed, and of those that live.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"

namespace ocrtune {
namespace {

class TemporaryDirectory : public testing::Test {
 protected:
  void SetUp() override {
    base_ = *make_temporary_directory("base");
    ::setenv("TMPDIR", base_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    EXPECT_TRUE(remove_tree(base_));
  }

  // In a child that ends with what `work` returns.
  static pid_t start(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    return child;
  }
  static int end_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Makes a folder with something in it, notes its name, and stays.
  pid_t start_owner(const std::string& note) const {
    const pid_t owner = start([&] {
      const auto folder = make_temporary_directory("owned");
      if (!folder || !write_file(join_path(*folder, "file"), "x")) return 1;
      if (!write_file(join_path(base_, note), *folder)) return 1;
      for (;;) ::pause();
    });
    while (!path_exists(join_path(base_, note))) steady_clock().sleep_seconds(0.01);
    return owner;
  }
  std::string owned(const std::string& note) const { return *read_file(join_path(base_, note)); }
  // Of a folder of this host in base_, as if somebody else had made it.
  std::string named(const std::string& end) const {
    std::string name = base_.substr(base_.rfind('/') + 1);
    return join_path(base_, name.substr(0, name.rfind('.') + 1) + end);
  }
  static int make_another() { return make_temporary_directory("another").ok() ? 0 : 1; }

  std::string base_;
};

TEST_F(TemporaryDirectory, ThoseOfKilledProcessesGoAndThoseOfLivingOnesStay) {
  const pid_t killed = start_owner("killed"), living = start_owner("living");
  ::kill(killed, SIGKILL);
  EXPECT_EQ(end_of(killed), 128 + SIGKILL);
  const std::string other = join_path(base_, "ocrtune.trial.abcdef");  // kept for its user
  ASSERT_TRUE(make_directories(other));
  EXPECT_EQ(end_of(start(make_another)), 0);
  EXPECT_FALSE(path_exists(owned("killed")));
  EXPECT_TRUE(path_exists(join_path(owned("living"), "file")));
  EXPECT_TRUE(path_exists(other));
  ::kill(living, SIGKILL);
  end_of(living);
}

TEST_F(TemporaryDirectory, LinksAndFoldersOfOthersStay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user's folder";
  const std::string target = join_path(base_, "target"), other = named("b");
  ASSERT_TRUE(make_directories(target));
  ASSERT_TRUE(make_directories(other));
  ASSERT_EQ(::symlink(target.c_str(), named("a").c_str()), 0);
  ASSERT_EQ(::chown(other.c_str(), 61357, 61357), 0);
  EXPECT_EQ(end_of(start(make_another)), 0);
  EXPECT_TRUE(path_exists(target));
  EXPECT_TRUE(path_exists(other));
}

TEST_F(TemporaryDirectory, ThoseOfAnotherHostStay) {
  const std::string orphan = named("orphan");
  const std::string other = join_path(base_, "ocrtune.tmp.another-host.trial.abcdef");
  ASSERT_TRUE(make_directories(orphan));
  ASSERT_TRUE(make_directories(other));
  EXPECT_EQ(end_of(start(make_another)), 0);
  EXPECT_FALSE(path_exists(orphan));
  EXPECT_TRUE(path_exists(other));
}

TEST_F(TemporaryDirectory, AFolderMountedInItIsNotEmptied) {
  const pid_t child = start([&] {
    if (::unshare(CLONE_NEWNS) != 0) return 77;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    const std::string bystander = join_path(base_, "bystander"), folder = join_path(base_, "a b");
    const std::string inside = join_path(folder, "inside"), file = join_path(bystander, "file");
    if (!make_directories(bystander) || !make_directories(inside)) return 1;
    if (!write_file(file, "x")) return 1;
    if (::mount(bystander.c_str(), inside.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    const bool refused = !remove_tree(folder);
    return refused && path_exists(file) ? 0 : 2;
  });
  const int code = end_of(child);
  if (code == 77) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(code, 0);
}

// Each grandchild looks for orphans, for nobody before it has looked there.
TEST_F(TemporaryDirectory, NoneIsTakenFromItsMaker) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(start([] {
      for (int k = 0; k < 60; ++k) {
        const int code = end_of(start([] {
          const auto folder = make_temporary_directory("many");
          if (!folder || !write_file(join_path(*folder, "file"), "x")) return 1;
          steady_clock().sleep_seconds(0.005);
          if (!path_exists(join_path(*folder, "file"))) return 2;
          return 0;  // and leaves it to the next
        }));
        if (code != 0) return code;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
  EXPECT_EQ(end_of(start(make_another)), 0);
  EXPECT_EQ(list_directory(base_)->size(), 1u);
}

}  // namespace
}  // namespace ocrtune
