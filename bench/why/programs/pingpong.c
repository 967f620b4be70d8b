/* Two threads hand each page to and fro: one prepares it, the other reads it, never both at once.
 */
#include <semaphore.h>

#include "pace.h"

static sem_t prepared, taken;

static void* read_pages(void* unused) {
  (void)unused;
  volatile double s = 0;
  for (;;) {
    sem_wait(&prepared);
    s += burn(3);
    done(1);
    sem_post(&taken);
  }
  return NULL;
}

int main(void) {
  sem_init(&prepared, 0, 0);
  sem_init(&taken, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, read_pages, NULL);
  volatile double s = 0;
  for (;;) {
    s += burn(3);
    sem_post(&prepared);
    sem_wait(&taken);
  }
}
