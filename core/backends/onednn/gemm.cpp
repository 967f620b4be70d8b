#include "core/backends/onednn/gemm.h"

#include <dnnl.h>

#include "core/backends/onednn/gemm_tiles.h"
#include "core/backends/onednn/register_width.h"

namespace ocrtune {
namespace {

using Multiply = void (*)(const GemmTile&, std::size_t, std::size_t);

void multiply_plain(const GemmTile& tile, std::size_t rows, std::size_t columns) {
  multiply_tiles<16, 2, 8>(tile, rows, columns);
}

Multiply choose_multiply() {
#if defined(__x86_64__)
  if (register_bytes() == 64) return multiply_avx512;
  if (register_bytes() == 32) return multiply_avx2;
#endif
  return multiply_plain;
}

}  // namespace

Status gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
            const MatrixView& b, float beta, float* c, std::size_t c_stride) {
  const auto signed_size = [](std::size_t size) { return static_cast<dnnl_dim_t>(size); };
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', signed_size(rows),
                 signed_size(columns), signed_size(depth), 1.0F, a.start, signed_size(a.stride),
                 b.start, signed_size(b.stride), beta, c, signed_size(c_stride));
  if (status == dnnl_success) return Status();
  return Error{status == dnnl_out_of_memory ? ErrorKind::exhausted : ErrorKind::failed,
               "oneDNN matrix product: status " + std::to_string(status)};
}

void small_gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
                const float* b, std::size_t b_stride, bool accumulate, float* c,
                std::size_t c_stride) {
  static const Multiply chosen = choose_multiply();
  const std::size_t row = a.transposed ? 1 : a.stride, step = a.transposed ? a.stride : 1;
  chosen(GemmTile{a.start, row, step, b, b_stride, c, c_stride, depth, accumulate}, rows, columns);
}

}  // namespace ocrtune
