// The rows of depthwise_tiles.h for 32-byte registers; CMakeLists.txt compiles this file for AVX2.
#include "core/backends/onednn/depthwise_tiles.h"

#if defined(__AVX2__)
namespace ocrtune {

void depthwise_line_avx2(const DepthwiseLine& line) { depthwise_tiles<32>(line); }

}  // namespace ocrtune
#endif
