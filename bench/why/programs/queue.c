/* One thread decodes (4 ms a page) into a bounded queue; four threads take pages from it (0.5 ms each). */
#include "pace.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int waiting;
static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (waiting == 0) pthread_cond_wait(&change, &lock);
    --waiting;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    s += burn(1) / 2;
    ++pages;
  }
  return NULL;
}

static void* decode(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    s += burn(8);
    pthread_mutex_lock(&lock);
    while (waiting == 16) pthread_cond_wait(&change, &lock);
    ++waiting;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) {
  start_threads(4, read_pages);
  start_threads(1, decode);
  report(&pages);
}
