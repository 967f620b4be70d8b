/* An OpenMP team of --threads whose first thread does all the work; the others wait actively (OMP_WAIT_POLICY=active). */
#include "pace.h"

int main(int argc, char** argv) {
  const int threads = flag(argc, argv, "--threads", 1);
  if (getenv("OMP_WAIT_POLICY") == NULL) {
    setenv("OMP_WAIT_POLICY", "active", 1);
    execv("/proc/self/exe", argv);
  }
  volatile double s = 0;
  for (;;) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp master
      s += burn(5);
    }
    done(1);
  }
}
