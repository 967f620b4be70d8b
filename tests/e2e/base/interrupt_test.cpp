// Signals as a flag: in forked children, because the flag is never taken back.
#include "base/interrupt.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace ocrtune {
namespace {

// The wait status of a child that runs `work` and ends with its exit code.
int status_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

bool comes_true(const std::function<bool()>& fact) {
  for (int i = 0; i < 2000 && !fact(); ++i) steady_clock().sleep_seconds(0.005);
  return fact();
}

TEST(Interrupt, TheFirstSignalSetsTheFlagAndTheSecondEnds) {
  for (int first : {SIGINT, SIGTERM, SIGHUP}) {
    for (int second : {SIGINT, SIGTERM}) {
      const int status = status_of([first, second] {
        std::signal(SIGINT, SIG_IGN);  // as in a shell's background job
        catch_interrupts();
        if (interrupted()) return 1;
        ::kill(::getpid(), first);
        if (!comes_true(interrupted)) return 2;
        steady_clock().sleep_seconds(0.5);
        ::kill(::getpid(), second);
        steady_clock().sleep_seconds(10);
        return 3;
      });
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == second) << first << ": " << status;
    }
  }
}

TEST(Interrupt, AFileAtItsLimitIsAnErrorOfTheWrite) {
  EXPECT_EQ(status_of([] {
              catch_interrupts();
              const rlimit none{0, 0};
              std::FILE* file = std::tmpfile();
              if (file == nullptr || ::setrlimit(RLIMIT_FSIZE, &none) != 0) return 2;
              return ::write(::fileno(file), "x", 1) < 0 && errno == EFBIG ? 0 : 3;
            }),
            0);
}

// timeout(1) signals its child, then the child's group.
TEST(Interrupt, TwoSignalsAtOnceAreOneRequest) {
  EXPECT_EQ(status_of([] {
              catch_interrupts();
              ::kill(::getpid(), SIGTERM);
              if (!comes_true(interrupted)) return 2;
              ::kill(::getpid(), SIGTERM);
              steady_clock().sleep_seconds(0.1);
              return 0;
            }),
            0);
}

TEST(Interrupt, AnInheritedDeafnessToChildrenEnds) {
  EXPECT_EQ(status_of([] {
              std::signal(SIGCHLD, SIG_IGN);
              catch_interrupts();
              const int status = status_of([] { return 7; });
              return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
            }),
            0);
}

TEST(Interrupt, NohupStaysInForce) {
  EXPECT_EQ(status_of([] {
              std::signal(SIGHUP, SIG_IGN);
              catch_interrupts();
              ::kill(::getpid(), SIGHUP);
              steady_clock().sleep_seconds(0.05);
              return interrupted() ? 1 : 0;
            }),
            0);
}

TEST(Interrupt, AForkedChildThatReleasesThemIsEndedByThem) {
  const int status = status_of([] {
    catch_interrupts();
    const int child = status_of([] {
      release_interrupts();
      ::kill(::getpid(), SIGTERM);
      return 1;
    });
    return WIFSIGNALED(child) && WTERMSIG(child) == SIGTERM && !interrupted() ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
// As a kernel of oneDNN does: the stack pointer holds another address while the signal comes.
__attribute__((noinline)) void signal_with_borrowed_stack_pointer(unsigned char* top, int number) {
  long call = 62;  // kill
  asm volatile(
      "mov %%rsp, %%rbx\n\t"
      "mov %[top], %%rsp\n\t"
      "syscall\n\t"
      "mov %%rbx, %%rsp"
      : "+a"(call)
      : "D"(static_cast<long>(::getpid())), "S"(static_cast<long>(number)), [top] "r"(top)
      : "rbx", "rcx", "r11", "memory");
}

TEST(Interrupt, NothingIsWrittenBelowABorrowedStackPointer) {
  EXPECT_EQ(status_of([] {
              static std::array<unsigned char, 1 << 16> heap;
              heap.fill(0xA5);
              catch_interrupts();
              signal_with_borrowed_stack_pointer(heap.data() + heap.size(), SIGTERM);
              if (!comes_true(interrupted)) return 2;
              const auto untouched = [](unsigned char byte) { return byte == 0xA5; };
              return std::all_of(heap.begin(), heap.end(), untouched) ? 0 : 1;
            }),
            0);
}
#endif

}  // namespace
}  // namespace ocrtune
