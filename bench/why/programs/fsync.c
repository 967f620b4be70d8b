/* Writes each page's result to the disk and waits until it is there. */
#include <fcntl.h>

#include "pace.h"

int main(void) {
  static char result[256 << 10];
  const int file = open("/tmp/ocrtune-why-fsync", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  memset(result, 1, sizeof result);
  for (long i = 0;; ++i) {
    if (pwrite(file, result, sizeof result, (i % 64) * (long)sizeof result) < 0) return 1;
    fsync(file);
    done(1);
  }
}
