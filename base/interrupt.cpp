#include "base/interrupt.h"

#include <pthread.h>

#include <atomic>
#include <csignal>

namespace ocrtune {
namespace {

constexpr std::size_t kWatcherStack = 64 << 10;

std::atomic<bool> g_interrupted = false;

sigset_t g_taken;  // set before the watcher starts

void* wait_for_signals(void*) {
  for (int number = 0; ::sigwait(&g_taken, &number) == 0;) {
    g_interrupted = true;
    sigset_t only;
    ::sigemptyset(&only);
    ::sigaddset(&only, number);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // the next one ends the process, by default
  }
  return nullptr;
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
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(number, SIG_DFL);
    ::sigaddset(&all, number);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

bool interrupted() { return g_interrupted; }

}  // namespace ocrtune
