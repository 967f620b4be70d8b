// Matrix products, row-major: oneDNN's for large ones on the whole team, our own for small ones
// inside a thread.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace ocrtune {

// A matrix that may be read transposed; `stride` floats lie between its rows in memory.
struct MatrixView {
  const float* start = nullptr;
  std::size_t stride = 0;
  bool transposed = false;
};

// C[rows, columns] = A[rows, depth] B[depth, columns] + beta C. Runs on the OpenMP team; inside a
// parallel region on the calling thread. exhausted: no memory for packing.
Status gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
            const MatrixView& b, float beta, float* c, std::size_t c_stride);

// C[rows, columns] (+)= A[rows, depth] B[depth, columns] on the calling thread, without packing:
// for a B (never transposed) that lies in cache. Fast when `columns` is a multiple of 16.
void small_gemm(std::size_t rows, std::size_t columns, std::size_t depth, const MatrixView& a,
                const float* b, std::size_t b_stride, bool accumulate, float* c,
                std::size_t c_stride);

}  // namespace ocrtune
