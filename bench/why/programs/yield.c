/* One thread computes, the others of --threads give up their CPU in a loop until it has finished.
 */
#include <sched.h>

#include "pace.h"

static _Atomic int finished;

static void* ask(void* unused) {
  (void)unused;
  while (!finished) sched_yield();
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = flag(argc, argv, "--threads", 1);
  start_threads(threads - 1, ask);
  volatile double s = 0;
  for (;;) {
    s += burn(5);
    done(1);
  }
}
