/* --threads threads take a buffer of 48 MiB for each page, write each of its memory pages once and give it back. */
#include "pace.h"

static _Atomic long pages;

static void* read_pages(void* unused) {
  (void)unused;
  for (;;) {
    enum { kBytes = 48 << 20 };
    char* buffer = malloc(kBytes);
    for (long i = 0; i < kBytes; i += 4096) ((volatile char*)buffer)[i] = 1;
    free(buffer);
    ++pages;
  }
  return NULL;
}

int main(int argc, char** argv) {
  start_threads(flag(argc, argv, "--threads", 1), read_pages);
  report(&pages);
}
