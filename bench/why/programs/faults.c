/* For each page a buffer of 8 MiB is mapped, written once and unmapped, as an allocator that gives
   everything back does. */
#include <sys/mman.h>

#include "pace.h"

static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  enum { kBytes = 8 << 20 };
  for (;;) {
    char* buffer = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(buffer, kBytes, MADV_NOHUGEPAGE);
    for (int i = 0; i < kBytes; i += 4096) buffer[i] = 1;
    munmap(buffer, kBytes);
    ++pages;
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = flag(argc, argv, "--threads", 1);
  start_threads(threads, read_pages);
  report(&pages);
}
