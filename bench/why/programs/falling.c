/* Each page takes a little longer than the one before. */
#include "pace.h"

int main(void) {
  volatile double s = 0;
  const double begin = now();
  for (;;) {
    s += burn(4 + (int)(0.6 * (now() - begin)));
    done(1);
  }
}
