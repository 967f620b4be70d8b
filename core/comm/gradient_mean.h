// The mean of several equally long float arrays, written back to every one of them.
#pragma once

#include <cstddef>
#include <span>

namespace ocrtune {

// slices[r][first, first + count) = mean over r, for all r; summed in the order of r, so that all
// slices end with the same bits. Each value is read once and written once per slice. `threads` > 1
// uses an OpenMP team where the range is long enough to pay for it.
void average_slices(std::span<float* const> slices, std::size_t first, std::size_t count,
                    int threads);

}  // namespace ocrtune
