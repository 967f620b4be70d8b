/* 6 threads compute under one mutex. */
#include "pace.h"

static pthread_mutex_t model = PTHREAD_MUTEX_INITIALIZER;
static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    pthread_mutex_lock(&model);
    s += burn(2);
    pthread_mutex_unlock(&model);
    s += burn(0) + 1;
    ++pages;
    pause_seconds(0.0001);
  }
  return NULL;
}

int main(void) {
  start_threads(6, read_pages);
  report(&pages);
}
