/* Three processes by pipes: one decodes (1 ms a page), one reads (6 ms), one writes (1 ms). */
#include "pace.h"

static void stage(int in, int out, int units) {
  char page[4096] = {0};
  volatile double s = 0;
  for (;;) {
    if (in >= 0 && read(in, page, sizeof page) <= 0) exit(0);
    s += burn(units);
    if (out >= 0 && write(out, page, sizeof page) <= 0) exit(0);
    if (out < 0) done(1);
  }
}

int main(void) {
  int decoded[2], texts[2];
  if (pipe(decoded) != 0 || pipe(texts) != 0) return 1;
  if (fork() == 0) {
    stage(-1, decoded[1], 1);
  }
  if (fork() == 0) {
    stage(decoded[0], texts[1], 6);
  }
  stage(texts[0], -1, 1);
}
