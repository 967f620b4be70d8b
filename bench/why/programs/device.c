/* 8 threads prepare pages (1 ms each) and share one device behind a read-write lock, which answers after 12 ms. */
#include "pace.h"

static pthread_rwlock_t device = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    s += burn(1);
    pthread_rwlock_wrlock(&device);
    pause_seconds(0.012);
    pthread_rwlock_unlock(&device);
    ++pages;
  }
  return NULL;
}

int main(void) {
  start_threads(8, read_pages);
  report(&pages);
}
