// Every function but steps_first() runs on the OpenMP team.
#include "core/backends/onednn/rows.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "core/simd/simd.h"

namespace ocrtune {
namespace {

OCRTUNE_SIMD void add_row(const float* __restrict from, std::size_t columns, float* __restrict to) {
  for (std::size_t j = 0; j < columns; ++j) to[j] += from[j];
}

// Sums of at most this many rows are kept in float before they go on: the rounding stays small.
constexpr std::size_t kRowBlock = 64;

}  // namespace

std::vector<float> steps_first(std::span<const float> logits, std::size_t count,
                               std::size_t classes) {
  const std::size_t steps = logits.size() / count / classes;
  std::vector<float> turned(logits.size());
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t t = 0; t < steps; ++t) {
      std::copy_n(logits.data() + (n * steps + t) * classes, classes,
                  turned.data() + (t * count + n) * classes);
    }
  }
  return turned;
}

void fill_rows(const float* row, std::size_t rows, std::size_t columns, float* to) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * columns, row, columns * sizeof(float));
  }
}

std::size_t column_sum_scratch_bytes(std::size_t columns) {
  return static_cast<std::size_t>(omp_get_max_threads()) * 2 * columns * sizeof(float);
}

void sum_columns(const float* from, std::size_t rows, std::size_t columns, std::size_t stride,
                 std::byte* scratch, float* sums) {
  auto* partial = reinterpret_cast<float*>(scratch);
  // The team may be smaller than when scratch was measured; only its own sums are added up.
  int team = 1;
#pragma omp parallel
  {
#pragma omp single
    team = omp_get_num_threads();
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    float* total = partial + thread * 2 * columns;
    float* block = total + columns;
    std::fill_n(total, columns, 0.0F);
#pragma omp for schedule(static)
    for (std::size_t first = 0; first < rows; first += kRowBlock) {
      std::fill_n(block, columns, 0.0F);
      const std::size_t last = std::min(rows, first + kRowBlock);
      for (std::size_t i = first; i < last; ++i) add_row(from + i * stride, columns, block);
      add_row(block, columns, total);
    }
  }
  std::copy_n(partial, columns, sums);
  for (int thread = 1; thread < team; ++thread) {
    add_row(partial + static_cast<std::size_t>(thread) * 2 * columns, columns, sums);
  }
}

}  // namespace ocrtune
