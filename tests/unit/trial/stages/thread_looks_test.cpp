#include "trial/stages/thread_looks.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/stages/tree_counters.h"

namespace ocrtune {
namespace {

// A /proc of saved texts.
class SavedProc : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temporary_directory("stages").value(); }
  void TearDown() override { (void)remove_tree(folder_); }

  void thread(int pid, int tid, const std::string& name, char state, const std::string& place,
              int times_run, const std::string& call = "") {
    const std::string folder = fmt::format("{}/proc/{}/task/{}", folder_, pid, tid);
    ASSERT_TRUE(make_directories(folder));
    write(folder + "/stat", stat_line(tid, name, state, 0, 0, 0, 0));
    write(folder + "/schedstat", fmt::format("1000 2000 {}\n", times_run));
    write(folder + "/wchan", place);
    write(folder + "/syscall", call);
  }

  void process(int pid, int minor_faults, int major_faults, int user_ticks, int system_ticks,
               const std::string& io) {
    const std::string folder = fmt::format("{}/proc/{}", folder_, pid);
    ASSERT_TRUE(make_directories(folder));
    write(folder + "/stat",
          stat_line(pid, "reader", 'S', minor_faults, major_faults, user_ticks, system_ticks));
    write(folder + "/io", io);
  }

  static std::string stat_line(int id, const std::string& name, char state, int minor_faults,
                               int major_faults, int user_ticks, int system_ticks) {
    return fmt::format("{} ({}) {} 1 1 1 0 -1 4194304 {} 0 {} 0 {} {} 0 0 20 0 1 0 1260386 29900\n",
                       id, name, state, minor_faults, major_faults, user_ticks, system_ticks);
  }

  static void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file(path, text));
  }

  static ProcessFacts member(int pid) {
    ProcessFacts facts;
    facts.pid = pid;
    facts.name = "reader";
    return facts;
  }

  FileRoot root() const { return FileRoot(folder_); }

  std::string folder_;
};

using ThreadLooksTest = SavedProc;
using TreeCountersTest = SavedProc;

TEST_F(ThreadLooksTest, CountsThreadsByWhatTheyWaitFor) {
  ThreadLooks looks(root());
  double now = 0;
  const std::string mutex = fmt::format("{} 0x55e3 0x80 0x2 0x0 0x0 0x0 0x7f 0x7f\n", SYS_futex);
  for (int times = 1; times <= 2; ++times) {
    thread(10, 10, "main", 'S', "hrtimer_nanosleep", times);
    thread(10, 11, "first", times == 1 ? 'R' : 'D', "0", times);
    thread(10, 12, "second", 'S', "futex_do_wait", times, mutex);
    thread(20, 20, "other", 'S', "anon_pipe_read", times);
    looks.look(now += 1, {member(10), member(20)});
  }
  StageUse use;
  looks.fill(use);
  EXPECT_EQ(use.looks, 2);
  EXPECT_DOUBLE_EQ(use.running_threads, 0.5);
  EXPECT_DOUBLE_EQ(use.disk_threads, 0.5);
  EXPECT_DOUBLE_EQ(use.mutex_threads, 1);
  EXPECT_DOUBLE_EQ(use.lock_threads, 1);
  EXPECT_DOUBLE_EQ(use.sleeping_threads, 1);
  EXPECT_DOUBLE_EQ(use.pipe_threads, 1);
  EXPECT_EQ(looks.name_of(11), "first");
  EXPECT_EQ(looks.process_of(11), "reader");
  EXPECT_EQ(looks.name_of(99), "");
}

TEST_F(ThreadLooksTest, ThreadsThatNeverRanAreLeftOut) {
  ThreadLooks looks(root());
  double now = 0;
  for (int i = 0; i < 3; ++i) {
    thread(10, 10, "main", 'S', "futex_do_wait", 7);  // as often as at the first look
    thread(10, 11, "works", 'S', "anon_pipe_read", 7 + i);
    looks.look(now += 1, {member(10)});
  }
  StageUse use;
  looks.fill(use);
  EXPECT_DOUBLE_EQ(use.lock_threads, 0);
  EXPECT_DOUBLE_EQ(use.pipe_threads, 1);
}

TEST_F(ThreadLooksTest, PythonsThreadsWaitForTheInterpreterByAskingOften) {
  ThreadLooks looks(root());
  ProcessFacts python = member(10);
  python.name = "python3";
  const std::string timed =
      fmt::format("{} 0x7f58 0x189 0x0 0x7ffe1b4d9970 0x0 0x7f 0x7f\n", SYS_futex);
  for (int second = 1; second <= 3; ++second) {
    thread(10, 10, "asks", 'S', "futex_do_wait", 200 * second, timed);
    thread(10, 11, "rests", 'S', "futex_do_wait", 2 * second, timed);  // a queue's get(timeout)
    thread(20, 20, "team", 'S', "futex_do_wait", 200 * second, timed);
    looks.look(second, {python, member(20)});
  }
  StageUse use;
  looks.fill(use);
  EXPECT_DOUBLE_EQ(use.mutex_threads, 1);
  EXPECT_DOUBLE_EQ(use.lock_threads, 3);
}

TEST_F(ThreadLooksTest, AProcessThatOnlyReadsAPipeIsFedByAnother) {
  ThreadLooks looks(root());
  double now = 0;
  for (int times = 1; times <= 2; ++times) {
    thread(10, 10, "trainer", 'S', "unix_stream_read_generic", times);
    thread(20, 20, "loader", 'S', "hrtimer_nanosleep", times);
    thread(30, 30, "client", 'S', "unix_stream_read_generic", times);
    thread(30, 31, "sampler", 'S', "hrtimer_nanosleep", times);
    thread(40, 40, "script", 'S', "do_wait", times);
    looks.look(now += 1, {member(10), member(20), member(30), member(40)});
  }
  StageUse use;
  looks.fill(use);
  EXPECT_DOUBLE_EQ(use.pipe_threads, 2);
  EXPECT_DOUBLE_EQ(use.fed_threads, 1)
      << "its own thread sleeps: whom the client asks is not known";
  EXPECT_DOUBLE_EQ(use.child_threads, 1);
}

// sched_yield in a loop takes its CPU time in the kernel and gets nothing there.
TEST_F(ThreadLooksTest, ThreadsThatAskTheKernelInALoop) {
  ThreadLooks looks(root());
  const auto ran = [&](int tid, int faults, int user, int system, char state = 'R') {
    thread(10, tid, "reader", state, "0", user + system);
    write(fmt::format("{}/proc/10/task/{}/stat", folder_, tid),
          stat_line(tid, "reader", state, faults, 0, user, system));
  };
  for (int second = 0; second <= 4; ++second) {
    const int ticks = 100 * second;
    ran(10, 0, ticks * 2 / 10, ticks * 8 / 10);                           // asks
    ran(11, 0, ticks * 9 / 10, ticks / 10);                               // computes
    ran(12, 200000 * second, ticks / 2, ticks / 2);                       // takes memory
    ran(13, 0, ticks / 10, ticks * 6 / 10, second % 2 == 0 ? 'S' : 'R');  // writes, and waits
    looks.look(second, {member(10)});
  }
  StageUse use;
  looks.fill(use);
  EXPECT_DOUBLE_EQ(use.asking_threads, 1);
  EXPECT_GT(use.running_threads, 3);
}

TEST_F(ThreadLooksTest, ProcessesThatAreGoneAreNoLook) {
  ThreadLooks looks(root());
  double now = 0;
  looks.look(now += 1, {member(10)});
  StageUse use;
  looks.fill(use);
  EXPECT_EQ(use.looks, 0);
}

TEST_F(TreeCountersTest, CountsFromTheFirstLookOn) {
  const long ticks = 100;
  TreeCounters counters(root());
  process(10, 1000, 5, 100, 100, "rchar: 5000\nwchar: 1\nread_bytes: 4096\nwrite_bytes: 0\n");
  counters.look(1, {member(10)});
  process(10, 3000, 25, 100 + 3 * ticks, 100 + ticks,
          "rchar: 25000\nwchar: 1\nread_bytes: 12288\nwrite_bytes: 8192\n");
  counters.look(3, {member(10)});
  StageUse use;
  counters.fill(use);
  EXPECT_DOUBLE_EQ(use.minor_faults_per_second, 1000);
  EXPECT_DOUBLE_EQ(use.major_faults_per_second, 10);
  EXPECT_DOUBLE_EQ(use.read_bytes_per_second, 10000);
  EXPECT_DOUBLE_EQ(use.storage_bytes_per_second, 4096);
  EXPECT_DOUBLE_EQ(use.written_bytes_per_second, 4096);
  EXPECT_DOUBLE_EQ(use.system_share, 0.25);
  EXPECT_GT(use.busiest_process_cpus, 0);
}

TEST_F(TreeCountersTest, AMemberThatEndsTakesNothingBack) {
  TreeCounters counters(root());
  process(10, 1000, 0, 0, 0, "rchar: 5000\nread_bytes: 0\n");
  process(20, 9000, 0, 0, 0, "rchar: 90000\nread_bytes: 0\n");
  counters.look(1, {member(10), member(20)});
  counters.look(2, {member(10)});
  StageUse use;
  counters.fill(use);
  EXPECT_DOUBLE_EQ(use.minor_faults_per_second, 0);
  EXPECT_DOUBLE_EQ(use.read_bytes_per_second, 0);
}

TEST_F(TreeCountersTest, SizesOfFilesOpenForReading) {
  const std::string file = folder_ + "/pages.lmdb";
  write(file, std::string(5000, 'x'));
  process(10, 0, 0, 0, 0, "");
  const std::string folder = folder_ + "/proc/10/fd";
  ASSERT_TRUE(make_directories(folder));
  // Links of a plain file system may all be read; /proc's own say how a file was opened.
  ASSERT_EQ(::symlink(file.c_str(), (folder + "/3").c_str()), 0);
  ASSERT_EQ(::symlink(file.c_str(), (folder + "/4").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", (folder + "/5").c_str()), 0);
  TreeCounters counters(root());
  counters.look(1, {member(10)});
  StageUse use;
  counters.fill(use);
  EXPECT_EQ(use.opened_bytes, 5000u) << "a file counts once";
  ASSERT_TRUE(use.opened_files);
  EXPECT_EQ(*use.opened_files, std::vector<std::string>{real_path(file).value()});
}

}  // namespace
}  // namespace ocrtune
