// Operators on vector loops and matrix products of our own, for what oneDNN does not do or does
// slowly. Each is checked against its like in core/backends/reference.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

// Trained numbers before and after an activation, on vector loops over whatever layout.
std::unique_ptr<Operator> make_fast_affine(const Affine& affine, const ImageDesc& in);

// Multi-head attention over rows of tokens, a head of a sample at a time in a thread's cache.
//
// The T x T weights are made in blocks of rows, used, and dropped: memory keeps two numbers a row,
// and backward makes the blocks again. Source: Dao et al. 2022; reference:
// core/backends/reference/reference_attention.h.
std::unique_ptr<Operator> make_fast_attention(const Attention& attention, const Shape& in);

// Depthwise convolutions on loops of our own, several branches at a time: oneDNN 2.6 has no fast
// weight gradient for 5 x 5 kernels and reads the input again for each branch.

// Whether the convolution is one of these: depthwise, square kernel of 1, 3 or 5, strides of 1 or
// 2, no activation, a bias only in training, and whole channel blocks if there are several
// branches.
bool is_fast_depthwise(const Conv& conv, const Shape& in, bool training = false);

Layout depthwise_layout(const Conv& conv, const ImageDesc& offered, const Layout& preferred);

std::unique_ptr<Operator> make_fast_depthwise(const Conv& conv, const OperatorRequest& request);

// The same in inference, with activation and affine: one branch of kernel 3 or 5 over whole channel
// blocks. Sums of a row stay in registers, of a lone image too.
bool is_depthwise_inference(const Conv& conv, const ImageDesc& in);
std::unique_ptr<Operator> make_depthwise_inference(const Conv& conv,
                                                   const OperatorRequest& request);

// Operators that touch every float once or twice: sums, activations, joins and scalings.

// These work on the floats in whatever layout they lie.
std::unique_ptr<Operator> make_fast_sum(const ImageDesc& in);
std::unique_ptr<Operator> make_fast_activate(const Activate& activate, const ImageDesc& in);

// All inputs as tokens (NHWC).
std::unique_ptr<Operator> make_fast_concat(const OperatorRequest& request);

// Both inputs in one layout.
std::unique_ptr<Operator> make_fast_scale(const ImageDesc& in);

// Layer norm over rows of tokens. Reference: core/backends/reference/reference_attention.h.
std::unique_ptr<Operator> make_fast_layer_norm(const LayerNorm& norm, const Shape& in);

// y = W x + b over tokens as matrix products; works on NHWC, where a pixel's channels are a row.
std::unique_ptr<Operator> make_fast_linear(const Linear& linear, const Shape& in);

// A bidirectional LSTM on matrix products: one for all inputs, then small ones from step to step.
//
// The two directions and groups of samples do not touch each other, so each thread takes whole
// sequences and no step waits for another thread. Reference:
// core/backends/reference/reference_lstm.h.
std::unique_ptr<Operator> make_fast_lstm(const BiLstm& lstm, const Shape& in);

// Batch norm, activation and max-pool in one pass over blocked activations.
//
// The full-size result between the norm and the pool is never written: backward finds it again
// from the input. Reference: core/backends/reference/reference_norm.h.
std::unique_ptr<Operator> make_fast_norm(const BatchNorm& norm, const ImageDesc& in);

// The sum of several batch norms on vector loops: one pass reads all branches, one writes the sum.

// The layout of all inputs where the first is there in `offered`: its own, unless a branch would
// begin in the middle of a channel block.
Layout norm_sum_layout(const NormSum& norm, const ImageDesc& offered);

std::unique_ptr<Operator> make_fast_norm_sum(const NormSum& norm, const OperatorRequest& request);

// Branches of 1 x 1 convolutions and the sum of their norms as one operator in training: what the
// norms measure follows from the products of the input with itself, and the sum is one convolution.
// So no branch is ever written. Reference: the two operators of core/backends/reference.

// Whether the two can be joined, and are fewer multiplications then. `adds_input`: the
// convolution's input is a summand, too.
bool joins_branches(const Conv& conv, const NormSum& sum, bool adds_input, const Shape& in);

// unsupported, exhausted: as make_onednn_conv().
Result<std::unique_ptr<Operator>> make_joined_branches(const NormSum& sum,
                                                       const OperatorRequest& request);

// Average and maximum over windows of pixels, in whatever layout they lie.
std::unique_ptr<Operator> make_fast_average_pool(const AveragePool& pool, const ImageDesc& in);
std::unique_ptr<Operator> make_fast_max_pool(const MaxPool& pool, const ImageDesc& in);

}  // namespace ocrtune
