// The form of a network that inference runs: batch norms, and the branches that are summed after
// them, become part of the convolutions before them.
//
// Source: Ding et al. 2021 (RepVGG), section 3.3.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace ocrtune {

// One trained convolution, or the identity (weight -1), with its batch norm, if it has one (scale
// -1: none). Indexes are of the trained graph; `first` is the branch's first channel in those
// tensors.
struct FoldedBranch {
  int weight = -1, bias = -1;
  Extent kernel{1, 1};
  int scale = -1, shift = 0, mean = 0, variance = 0;
  int first = 0;
  double epsilon = 0;
};

struct FoldedConv {
  std::vector<int> parameters;  // of the folded graph, in the order of the operation
  int in_per_group = 1;
  std::vector<FoldedBranch> branches;  // summed
  std::vector<int> affine;             // s0, t0, s1, t1 of the affine behind it; empty: none
};

struct CopiedTensor {
  int from = 0, to = 0;
};

struct InferenceForm {
  Graph graph;
  std::vector<FoldedConv> convs;
  std::vector<CopiedTensor> parameters, statistics;  // as they are
};

// A norm that does not follow convolutions alone stays a layer. With `join_affines` an affine
// behind a convolution becomes part of it (Conv::affine), which the backends of the CPUs know.
InferenceForm make_inference_form(const Graph& trained, bool join_affines = false);

// Fills the folded graph's flat buffers from the trained ones; sums in double.
void fold_parameters(const InferenceForm& form, const Graph& trained, const float* parameters,
                     const float* statistics, float* folded_parameters, float* folded_statistics);

}  // namespace ocrtune
