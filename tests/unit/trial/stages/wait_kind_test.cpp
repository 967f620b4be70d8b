#include "trial/stages/wait_kind.h"

#include <sys/syscall.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// As /proc/<pid>/syscall prints it.
std::string call(long number, const std::string& arguments) {
  return fmt::format("{} {} 0x0 0x0 0x7ffe1b4d9930 0x7fdd728ed545\n", number, arguments);
}

TEST(WaitKind, RunningAndDiskAreStates) {
  EXPECT_EQ(wait_kind('R', "0", "running"), WaitKind::running);
  EXPECT_EQ(wait_kind('D', "folio_wait_bit_common", ""), WaitKind::disk);
  EXPECT_EQ(wait_kind('D', "rwsem_down_write_slowpath", ""), WaitKind::other)
      << "a lock of the kernel's, of the memory map";
  EXPECT_EQ(wait_kind('Z', "", ""), WaitKind::other);
}

TEST(WaitKind, NamesOfTheKernelsFunctions) {
  EXPECT_EQ(wait_kind('S', "hrtimer_nanosleep", ""), WaitKind::sleeping);
  EXPECT_EQ(wait_kind('S', "futex_wait_queue_me", ""), WaitKind::futex);
  EXPECT_EQ(wait_kind('S', "futex_do_wait", ""), WaitKind::futex);
  EXPECT_EQ(wait_kind('S', "anon_pipe_read", ""), WaitKind::pipe);
  EXPECT_EQ(wait_kind('S', "unix_stream_read_generic", ""), WaitKind::pipe);
  EXPECT_EQ(wait_kind('S', "poll_schedule_timeout.constprop.0", ""), WaitKind::network);
  EXPECT_EQ(wait_kind('S', "inet_csk_accept", ""), WaitKind::network);
  EXPECT_EQ(wait_kind('S', "do_wait", ""), WaitKind::child);
  EXPECT_EQ(wait_kind('S', "some_new_function", ""), WaitKind::other);
}

TEST(WaitKind, AMutexIsAWordOfTwo) {
  const std::string glibc_mutex = call(SYS_futex, "0x55e31ec1ce50 0x80 0x2 0x0");
  const std::string rust_mutex = call(SYS_futex, "0x55e31ec1ce50 0x89 0x2 0x0");
  const std::string semaphore = call(SYS_futex, "0x55e31ec1ce50 0x189 0x0 0x0");
  const std::string wake = call(SYS_futex, "0x55e31ec1ce50 0x81 0x2 0x0");
  const std::string read_write_lock = call(SYS_futex, "0x55e31ec1ce50 0x189 0x3 0x0");
  EXPECT_EQ(wait_kind('S', "futex_do_wait", glibc_mutex), WaitKind::mutex);
  EXPECT_EQ(wait_kind('S', "futex_do_wait", read_write_lock), WaitKind::mutex);
  EXPECT_EQ(wait_kind('S', "futex_do_wait", rust_mutex), WaitKind::mutex);
  EXPECT_EQ(wait_kind('S', "futex_do_wait", semaphore), WaitKind::futex);
  EXPECT_EQ(wait_kind('S', "futex_do_wait", wake), WaitKind::futex);
  const std::string timed = call(SYS_futex, "0x55e31ec1ce50 0x189 0x0 0x7ffe1b4d9970");
  EXPECT_EQ(wait_kind('S', "futex_do_wait", timed), WaitKind::timed);
}

TEST(WaitKind, APollOfNothingIsASleep) {
  const std::string none = call(SYS_ppoll, "0x0 0x0 0x7ffe1b4d9970 0x0");
  const std::string one = call(SYS_ppoll, "0x7f0000000000 0x1 0x7ffe1b4d9970 0x0");
  EXPECT_EQ(wait_kind('S', "poll_schedule_timeout", none), WaitKind::sleeping);
  EXPECT_EQ(wait_kind('S', "poll_schedule_timeout", one), WaitKind::network);
  EXPECT_EQ(wait_kind('S', "poll_schedule_timeout", call(SYS_pselect6, "0x0 0x0 0x0 0x0")),
            WaitKind::sleeping);
}

TEST(WaitKind, TheCallStandsInForAHiddenFunction) {
  for (const char* hidden : {"", "0"}) {
    EXPECT_EQ(wait_kind('S', hidden, call(SYS_clock_nanosleep, "0x1 0x1 0x7ffe1b4d9970 0x0")),
              WaitKind::sleeping);
    EXPECT_EQ(wait_kind('S', hidden, call(SYS_futex, "0x55e31ec1ce50 0x80 0x2 0x0")),
              WaitKind::mutex);
    EXPECT_EQ(wait_kind('S', hidden, call(SYS_recvfrom, "0x3 0x0 0x0 0x0")), WaitKind::network);
    EXPECT_EQ(wait_kind('S', hidden, "-1 0x7ffe 0x7fdd"), WaitKind::other);
    EXPECT_EQ(wait_kind('S', hidden, ""), WaitKind::other);
  }
}

TEST(WaitKind, TheCallIsReadOnlyWhereItDecides) {
  EXPECT_TRUE(needs_call('S', "futex_do_wait"));
  EXPECT_TRUE(needs_call('S', "poll_schedule_timeout"));
  EXPECT_TRUE(needs_call('S', "0"));
  EXPECT_FALSE(needs_call('S', "hrtimer_nanosleep"));
  EXPECT_FALSE(needs_call('R', ""));
  EXPECT_FALSE(needs_call('D', "0"));
}

}  // namespace
}  // namespace ocrtune
