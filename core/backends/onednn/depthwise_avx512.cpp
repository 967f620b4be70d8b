#include "core/backends/onednn/depthwise_tiles.h"

#if defined(__AVX512F__)
namespace ocrtune {

void depthwise_line_avx512(const DepthwiseLine& line) {
  line.block == 16 ? depthwise_tiles<64>(line) : depthwise_tiles<32>(line);
}

}  // namespace ocrtune
#endif
