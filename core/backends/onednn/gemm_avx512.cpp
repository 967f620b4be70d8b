// The tiles of gemm_tiles.h for the 32 registers of 64 bytes that AVX-512 has: 24 hold sums.
#include "core/backends/onednn/gemm_tiles.h"

#if defined(__AVX512F__)
namespace ocrtune {

void multiply_avx512(const GemmTile& tile, std::size_t rows, std::size_t columns) {
  multiply_tiles<64, 3, 24>(tile, rows, columns);
}

}  // namespace ocrtune
#endif
