// The signals are blocked in every thread and taken by sigwait(3) in one detached thread, which
// counts them. New threads inherit the mask of the one that makes them, hence the order: block
// first, then start the watcher.
#include "base/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/clock.h"

namespace ocrtune {
namespace {

// The thread calls sigwait, the clock and kill, nothing that needs the usual 8 MiB.
constexpr std::size_t kWatcherStack = 64 << 10;

// timeout(1) signals its child and the child's group: within this time it is one request.
constexpr double kSameRequestSeconds = 0.3;

std::atomic<bool> g_interrupted = false;

sigset_t g_taken;  // set before the watcher starts

// The signal's usual effect, so that a shell sees by the wait status what ended the program.
[[noreturn]] void end_by(int number) {
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(::getpid(), number);
  ::_exit(128 + number);  // the kernel spares PID 1 of a container
}

void* wait_for_signals(void*) {
  // The first signal sets the flag. Those within 0.3 s of it are one request with it, and the next
  // one ends the process.
  int number = 0;
  if (::sigwait(&g_taken, &number) != 0) return nullptr;
  g_interrupted = true;
  const double end = steady_clock().now_seconds() + kSameRequestSeconds;
  while (::sigwait(&g_taken, &number) == 0 && steady_clock().now_seconds() < end) {
  }
  end_by(number);
}

bool start_watcher() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, kWatcherStack);
  pthread_t watcher;
  const bool started = ::pthread_create(&watcher, &attributes, wait_for_signals, nullptr) == 0;
  ::pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Ignored by the process that started us, our children's ends would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  ::sigemptyset(&g_taken);
  // A shell's background job starts with SIGINT ignored, and still shall end when it is told to.
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    const bool ignored = std::signal(number, SIG_DFL) == SIG_IGN;
    if (number == SIGHUP && ignored) {
      std::signal(number, SIG_IGN);
    } else {
      ::sigaddset(&g_taken, number);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &g_taken, nullptr);
  // Without a thread to spare the signals keep their usual effect: better than to be deaf.
  if (!start_watcher()) ::pthread_sigmask(SIG_UNBLOCK, &g_taken, nullptr);
}

void release_interrupts() {
  sigset_t all;
  ::sigemptyset(&all);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) {
    const bool ignored = std::signal(number, SIG_DFL) == SIG_IGN;
    if (number == SIGHUP && ignored) std::signal(number, SIG_IGN);  // by nohup, not by us
    ::sigaddset(&all, number);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

bool interrupted() { return g_interrupted; }

}  // namespace ocrtune
