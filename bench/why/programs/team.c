/* Four threads meet at a barrier after each page: three have 0.5 ms of work for it, one has 10 ms. */
#include "pace.h"

static pthread_barrier_t barrier;
static _Atomic long pages;

static void* read_part(void* part) {
  volatile double s = 0;
  for (;;) {
    s += burn(part != NULL ? 20 : 1);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) ++pages;
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 4);
  pthread_t thread;
  pthread_create(&thread, NULL, read_part, &barrier);
  start_threads(3, read_part);
  report(&pages);
}
