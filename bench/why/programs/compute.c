/* --threads threads compute pages of their own: as fast as there are CPUs. */
#include "pace.h"

static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    s += burn(5);
    ++pages;
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = flag(argc, argv, "--threads", 1);
  start_threads(threads, read_pages);
  report(&pages);
}
