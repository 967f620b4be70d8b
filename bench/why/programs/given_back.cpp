// A reader whose buffers of 6 MB for each page go back to the kernel at once, as under
// MALLOC_TRIM_THRESHOLD_=0.
#include <malloc.h>

#include <cstring>
#include <memory>

#include "pace.h"

int main() {
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
  constexpr std::size_t kBytes = 6 << 20;
  for (;;) {
    long sum = 0;
    for (int layer = 0; layer < 4; ++layer) {
      const std::unique_ptr<unsigned char[]> image(new unsigned char[kBytes]);
      std::memset(image.get(), layer, kBytes);
      for (std::size_t i = 0; i < kBytes; i += 64) sum += image[i];
    }
    if (sum < 0) return 1;
    done(1);
  }
}
