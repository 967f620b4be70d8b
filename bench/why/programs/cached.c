/* Reads a file of 256 MiB again and again, which the machine keeps in memory. */
#include <fcntl.h>

#include "pace.h"

int main(void) {
  enum { kBlock = 1 << 20, kBlocks = 256 };
  static char block[kBlock];
  int file = open("/tmp/ocrtune-why-cached", O_RDWR | O_CREAT, 0600);
  if (lseek(file, 0, SEEK_END) < (off_t)kBlock * kBlocks) {
    for (int i = 0; i < kBlocks; ++i) {
      if (pwrite(file, block, kBlock, (off_t)i * kBlock) != kBlock) return 1;
    }
    fsync(file);
  }
  close(file);
  file = open("/tmp/ocrtune-why-cached", O_RDONLY);
  volatile double s = 0;
  for (int i = 0;; i = (i + 1) % kBlocks) {
    if (pread(file, block, kBlock, (off_t)i * kBlock) != kBlock) return 1;
    s += burn(3);
    done(1);
  }
}
