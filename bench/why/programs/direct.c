/* Reads a file of 512 MiB past the page cache, 16 KiB at a random place for each page. */
#include "pace.h"

#include <fcntl.h>

int main(void) {
  enum { kBlock = 1 << 20, kBlocks = 512, kPage = 16 << 10 };
  char* block = aligned_alloc(4096, kBlock);
  memset(block, 1, kBlock);
  int file = open("/tmp/ocrtune-why-direct", O_RDWR | O_CREAT, 0600);
  if (lseek(file, 0, SEEK_END) < (off_t)kBlock * kBlocks) {
    for (int i = 0; i < kBlocks; ++i) {
      if (pwrite(file, block, kBlock, (off_t)i * kBlock) != kBlock) return 1;
    }
    fsync(file);
  }
  close(file);
  file = open("/tmp/ocrtune-why-direct", O_RDONLY | O_DIRECT);
  for (;;) {
    const off_t page = (off_t)(((long)rand() * 31 + rand()) % ((long)kBlocks * kBlock / kPage));
    if (pread(file, block, kPage, page * kPage) != kPage) return 1;
    done(1);
  }
}
