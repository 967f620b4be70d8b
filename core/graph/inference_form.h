// The form of a network that inference runs: batch norms, and the branches that are summed after
// them, become part of the convolutions before them.
//
// Source: Ding et al. 2021 (RepVGG), section 3.3.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace ocrtune {

// One trained convolution, or the identity (weight -1), with its batch norm. Indexes are of the
// trained graph; `first` is the branch's first channel in those tensors.
struct FoldedBranch {
  int weight = -1, bias = -1;
  Extent kernel{1, 1};
  int scale = 0, shift = 0, mean = 0, variance = 0;
  int first = 0;
  double epsilon = 0;
};

struct FoldedConv {
  int weight = 0, bias = 0;  // parameters of the folded graph
  int in_per_group = 1;
  std::vector<FoldedBranch> branches;  // summed
};

struct CopiedTensor {
  int from = 0, to = 0;
};

struct InferenceForm {
  Graph graph;
  std::vector<FoldedConv> convs;
  std::vector<CopiedTensor> parameters, statistics;  // as they are
};

// A norm that does not follow convolutions alone stays a layer.
InferenceForm make_inference_form(const Graph& trained);

// Fills the folded graph's flat buffers from the trained ones; sums in double.
void fold_parameters(const InferenceForm& form, const Graph& trained, const float* parameters,
                     const float* statistics, float* folded_parameters, float* folded_statistics);

}  // namespace ocrtune
