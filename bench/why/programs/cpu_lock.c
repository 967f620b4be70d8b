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
  for (int i = 0; i < 6; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, read_pages, NULL);
  }
  long seen = 0;
  for (;;) {
    pause_seconds(0.25);
    const long count = pages;
    done((int)(count - seen));
    seen = count;
  }
}
