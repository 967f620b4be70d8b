// The mean of several equally long float arrays, written back to every one of them, and the parts
// of which a mean in several steps is made.
#pragma once

#include <cstddef>
#include <span>

namespace ocrtune {

// slices[r][first, first + count) = mean over r, for all r; summed in the order of r, so that all
// slices end with the same bits. Each value is read once and written once per slice. `threads` > 1
// uses an OpenMP team where the range is long enough to pay for it.
void average_slices(std::span<float* const> slices, std::size_t first, std::size_t count,
                    int threads);

// target[first, first + count) = the sum of the sources in their order, times `scale`; the target
// may be one of them.
void add_slices(std::span<float* const> sources, float scale, float* target, std::size_t first,
                std::size_t count, int threads);

// The source's range into every target's; the source is none of them and is read once.
void copy_slice(const float* source, std::span<float* const> targets, std::size_t first,
                std::size_t count, int threads);

}  // namespace ocrtune
