// Is what a core computes right? Loss and gradients of small drawn batches against the reference
// backend, with the weights as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "core/graph/batch.h"
#include "core/graph/ctc.h"
#include "core/graph/graph.h"

namespace ocrtune {

struct GradientCheck {
  const Graph* graph = nullptr;
  int height = 32, width = 320, classes = 97;
  int check_width = 64, width_per_step = 8;  // of the small batch, as a ModelRow has them
  std::uint64_t seed = 1;
  bool exact = true;  // fp32: several batches, since a kink in one is no fault
  std::span<const float> parameters, statistics;
  // Activations are rounded too, and deep networks blow that up (PyTorch's autocast is as far from
  // its own fp32): only the loss and the gradient of the last parameter count, which is the sum of
  // the loss's.
  bool ends_alone = false;
};

// Forward and backward of a batch with those weights; statistics stay as they are.
using GradientMaker =
    std::function<Result<CtcLoss>(const Batch& batch, std::span<float> gradients)>;

// The largest relative error (Euclidean norm) over loss and gradient tensors, of each the best
// batch's; NaN counts as the largest.
Result<double> gradient_error(const GradientCheck& check, const GradientMaker& make);

}  // namespace ocrtune
