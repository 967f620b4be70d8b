/* One thread computes; the flag --threads is read and comes to nothing. */
#include "pace.h"

int main(void) {
  volatile double s = 0;
  for (;;) {
    s += burn(5);
    done(1);
  }
}
