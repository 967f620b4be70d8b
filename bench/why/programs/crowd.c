/* 8 x --threads threads compute and meet at a barrier after each page. */
#include "pace.h"

static pthread_barrier_t barrier;

static void* read_pages(void* first) {
  volatile double s = 0;
  for (;;) {
    s += burn(2);
    pthread_barrier_wait(&barrier);
    if (first != NULL) done(8);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = 8 * flag(argc, argv, "--threads", 1);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_t thread;
  for (int i = 0; i < threads; ++i) {
    pthread_create(&thread, NULL, read_pages, i == 0 ? &barrier : NULL);
  }
  pthread_join(thread, NULL);
}
