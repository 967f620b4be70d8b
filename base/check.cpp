// The message and the abort of a broken invariant, by stdio alone.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ocrtune {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "ocrtune: broken invariant: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace ocrtune
