// Loops over rows of a matrix that every token operator needs: bias rows and column sums.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ocrtune {

// [N, T, classes], as networks leave them, to [T, N, classes].
std::vector<float> steps_first(std::span<const float> logits, std::size_t count,
                               std::size_t classes);

// Every row of to[rows, columns] becomes `row`.
void fill_rows(const float* row, std::size_t rows, std::size_t columns, float* to);

std::size_t column_sum_scratch_bytes(std::size_t columns);

// sums[j] = sum over i of from[i * stride + j], 0 <= j < columns. Runs on the OpenMP team, which
// must not be larger than when the scratch was measured.
void sum_columns(const float* from, std::size_t rows, std::size_t columns, std::size_t stride,
                 std::byte* scratch, float* sums);

}  // namespace ocrtune
