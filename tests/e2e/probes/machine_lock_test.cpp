#include "probes/host/machine_lock.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

class MachineLockTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("machine_lock_test");
    const char* const before = std::getenv("OCRTUNE_LOCK_DIR");
    before_ = before == nullptr ? "" : before;  // empty counts as not set
    setenv("OCRTUNE_LOCK_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    release();
    setenv("OCRTUNE_LOCK_DIR", before_.c_str(), 1);
    EXPECT_TRUE(remove_tree(folder_));
  }

  // A process, not this one's parent, that has the lock until release().
  void hold() {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    holder_ = fork();
    if (holder_ == 0) {
      const auto lock = MachineLock::take(false, {});
      const char byte = lock && lock->held() ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
    close(ready[0]);
    close(ready[1]);
  }
  void release() {
    if (holder_ <= 0) return;
    kill(holder_, SIGKILL);
    waitpid(holder_, nullptr, 0);
    holder_ = -1;
  }

  std::string folder_, before_;
  pid_t holder_ = -1;
};

// Each sleep of a waiting run runs `each`.
class WaitingClock final : public Clock {
 public:
  explicit WaitingClock(std::function<void()> each) : each_(std::move(each)) {}
  double now_seconds() override { return 0; }
  void sleep_seconds(double) override { each_(); }

 private:
  std::function<void()> each_;
};

TEST_F(MachineLockTest, NamesItsHolder) {
  hold();
  const auto lock = MachineLock::take(false, {});
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().what, HasSubstr("process " + std::to_string(holder_) + ", since "));
  EXPECT_THAT(lock.error().what, HasSubstr("tests"));  // the program's name
}

TEST_F(MachineLockTest, WaitsForItsHolderAndSaysSoOnce) {
  hold();
  int told = 0;
  int slept = 0;
  WaitingClock clock([&] {
    if (++slept == 3) release();
  });
  const auto lock = MachineLock::take(
      true, [&](const std::string&) { ++told; }, clock);
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(slept, 3);
}

// Who keeps the lock, a user who measures nothing too, keeps nobody for ever.
TEST_F(MachineLockTest, NobodyWaitsForEver) {
  struct Hours final : Clock {
    double now = 0;
    double now_seconds() override { return now; }
    void sleep_seconds(double) override { now += 600; }
  } clock;
  hold();
  const auto lock = MachineLock::take(true, {}, clock);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(lock.error().what, HasSubstr("process " + std::to_string(holder_)));
  EXPECT_THAT(lock.error().what, HasSubstr("OCRTUNE_LOCK_DIR"));
  EXPECT_NEAR(clock.now, kMaxTurnSeconds, 600);
}

TEST_F(MachineLockTest, DeadHolderHoldsNothing) {
  hold();
  release();
  EXPECT_TRUE(MachineLock::take(false, {})->held());
}

TEST_F(MachineLockTest, ProcessOfTheHolderNeitherWaitsNorFails) {
  const auto lock = MachineLock::take(false, {});
  ASSERT_TRUE(lock->held());
  const pid_t child = fork();
  if (child == 0) {
    const auto nested = MachineLock::take(false, {});
    _exit(nested && !nested->held() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(MachineLockTest, FolderThatIsNamedMustBeThere) {
  const std::string none = join_path(folder_, "none"), file = join_path(folder_, "file");
  setenv("OCRTUNE_LOCK_DIR", none.c_str(), 1);
  const auto lock = MachineLock::take(false, {});
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().what, "OCRTUNE_LOCK_DIR: " + none + " is not there");
  ASSERT_TRUE(write_file(file, ""));
  setenv("OCRTUNE_LOCK_DIR", file.c_str(), 1);
  EXPECT_EQ(MachineLock::take(false, {}).error().kind, ErrorKind::usage);
}

TEST_F(MachineLockTest, FileIsForAllUsersAndNoLinkIsFollowed) {
  { const auto lock = MachineLock::take(false, {}); }
  const std::string path = join_path(folder_, "ocrtune.lock");
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0666u);
  EXPECT_EQ(facts.st_size, 0);
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(symlink("elsewhere", path.c_str()), 0);
  const auto lock = MachineLock::take(false, {});
  ASSERT_TRUE(lock);  // it measures all the same
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(path_exists(join_path(folder_, "elsewhere")));
}

}  // namespace
}  // namespace ocrtune
