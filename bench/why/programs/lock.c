/* --threads x 4 threads (8 at least) hold one mutex while they wait for a device: 8 ms each. */
#include "pace.h"

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&device);
    pause_seconds(0.008);
    pthread_mutex_unlock(&device);
    ++pages;
    pause_seconds(0.0002);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = 4 * (1 + flag(argc, argv, "--threads", 1));
  start_threads(threads, read_pages);
  report(&pages);
}
