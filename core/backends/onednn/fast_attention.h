// Multi-head attention over rows of tokens, a head of a sample at a time in a thread's cache.
//
// The T x T weights are made in blocks of rows, used, and dropped: memory keeps two numbers a row,
// and backward makes the blocks again. Source: Dao et al. 2022; reference:
// core/backends/reference/reference_attention.h.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_attention(const Attention& attention, const Shape& in);

}  // namespace ocrtune
