// The rows of depthwise_tiles.h for 64-byte registers; CMakeLists.txt compiles this file for
// AVX-512. A block of 8 channels fills half a register, so it takes the 32-byte tiles.
#include "core/backends/onednn/depthwise_tiles.h"

#if defined(__AVX512F__)
namespace ocrtune {

void depthwise_line_avx512(const DepthwiseLine& line) {
  line.block == 16 ? depthwise_tiles<64>(line) : depthwise_tiles<32>(line);
}

}  // namespace ocrtune
#endif
