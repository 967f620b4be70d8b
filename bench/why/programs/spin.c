/* One thread computes, the others of --threads ask a flag in a loop whether it has finished. */
#include "pace.h"

static _Atomic int finished;

static void* ask(void* unused) {
  (void)unused;
  while (!finished) __builtin_ia32_pause();
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
