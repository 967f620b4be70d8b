#include "base/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace ocrtune {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int number) {
  g_interrupted = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, on_signal);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return g_interrupted != 0; }

}  // namespace ocrtune
