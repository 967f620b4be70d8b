// gemm() is oneDNN's sgemm, with a detour for gradients of weights whose rows collide in the cache.
// small_gemm() is our own tiles, chosen once by the register width of this CPU.
#include "core/backends/onednn/gemm.h"

#include <dnnl.h>

#include <algorithm>
#include <memory>
#include <new>

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

Status multiply(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
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

// Floats from row to row of which so many rows fall on the same lines of a cache that a product
// over the rows runs at half its speed.
bool collides(const MatrixView& view) { return view.stride % 512 == 0; }

// The number of rows in a part is a guess; 16 floats more from row to row are one cache line.
constexpr std::size_t kPart = 256, kApart = 16;

// Room for kPart rows of a matrix of `columns`, if they collide.
std::unique_ptr<float[]> room_for(const MatrixView& view, std::size_t columns) {
  if (!collides(view)) return nullptr;
  return std::make_unique_for_overwrite<float[]>(kPart * (columns + kApart));
}

// The first rows at a distance that does not collide; without room where they lie.
MatrixView spread(const MatrixView& view, std::size_t rows, std::size_t columns, float* room) {
  if (room == nullptr) return view;
  const MatrixView copy{room, columns + kApart, view.transposed};
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(view.start + row * view.stride, columns, room + row * copy.stride);
  }
  return copy;
}

// A' B over many rows of both, as gradients of weights are: in parts, of what collides a copy.
Status multiply_over_rows(std::size_t rows, std::size_t columns, std::size_t depth, MatrixView a,
                          MatrixView b, float beta, float* c, std::size_t c_stride) {
  const auto room_a = room_for(a, rows), room_b = room_for(b, columns);
  for (std::size_t first = 0; first < depth; first += kPart) {
    const std::size_t part = std::min(kPart, depth - first);
    OCRTUNE_TRY(multiply(rows, columns, part, spread(a, part, rows, room_a.get()),
                         spread(b, part, columns, room_b.get()), first == 0 ? beta : 1.0F, c,
                         c_stride));
    a.start += part * a.stride;
    b.start += part * b.stride;
  }
  return Status();
}

}  // namespace

Status gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
            const MatrixView& b, float beta, float* c, std::size_t c_stride) {
  if (!a.transposed || b.transposed || !(collides(a) || collides(b))) {
    return multiply(rows, columns, depth, a, b, beta, c, c_stride);
  }
  try {
    return multiply_over_rows(rows, columns, depth, a, b, beta, c, c_stride);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::exhausted, "matrix product: no memory"};
  }
}

void small_gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
                const float* b, std::size_t b_stride, bool accumulate, float* c,
                std::size_t c_stride) {
  static const Multiply chosen = choose_multiply();
  const std::size_t row = a.transposed ? 1 : a.stride, step = a.transposed ? a.stride : 1;
  chosen(GemmTile{a.start, row, step, b, b_stride, c, c_stride, depth, accumulate}, rows, columns);
}

}  // namespace ocrtune
