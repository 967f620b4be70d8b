// The tiles of gemm_tiles.h for the 16 registers of 32 bytes that AVX2 has: 12 hold sums.
#include "core/backends/onednn/gemm_tiles.h"

#if defined(__AVX2__)
namespace ocrtune {

void multiply_avx2(const GemmTile& tile, std::size_t rows, std::size_t columns) {
  multiply_tiles<32, 2, 12>(tile, rows, columns);
}

}  // namespace ocrtune
#endif
