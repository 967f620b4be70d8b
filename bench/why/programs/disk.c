/* Reads a file of 256 MiB in blocks of 1 MiB that are not in memory: a page of work for each. */
#include <fcntl.h>

#include "pace.h"

int main(int argc, char** argv) {
  enum { kBlock = 1 << 20, kBlocks = 256 };
  const char* path = "/tmp/ocrtune-why-disk";
  (void)argc, (void)argv;
  void* block = NULL;
  if (posix_memalign(&block, 4096, kBlock) != 0) return 1;
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (lseek(file, 0, SEEK_END) < (off_t)kBlock * kBlocks) {
    memset(block, 1, kBlock);
    for (int i = 0; i < kBlocks; ++i) {
      if (pwrite(file, block, kBlock, (off_t)i * kBlock) != kBlock) return 1;
    }
    fsync(file);
  }
  close(file);
  file = open(path, O_RDONLY);
  for (int i = 0;; i = (i + 1) % kBlocks) {
    posix_fadvise(file, (off_t)i * kBlock, kBlock, POSIX_FADV_DONTNEED);
    /* Page by page, as a reader of small records does, without read-ahead. */
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    for (int k = 0; k < 16; ++k) {
      if (pread(file, block, 65536, (off_t)i * kBlock + k * 65536) != 65536) return 1;
    }
    done(1);
  }
}
