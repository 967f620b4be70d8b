// AdamW over flat buffers. Source: Loshchilov and Hutter 2019; epsilon and order as in PyTorch.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/graph.h"

namespace ocrtune {

struct AdamW {
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double clip_norm = 0;  // most Euclidean norm of all gradients together; 0: any
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

// The moments lie beside the parameters in buffers of the same order.
struct AdamWState {
  std::span<float> first, second;
  std::int64_t steps = 0;
};

// The Euclidean norm of all gradients together; the same for any team.
double gradient_norm(const Graph& graph, std::span<const float> gradients);

// One step on all parameters of `graph`; weight decay only where Parameter::decays. Runs on the
// OpenMP team.
void update_parameters(const AdamW& settings, const Graph& graph, std::span<const float> gradients,
                       AdamWState& state, std::span<float> parameters);

}  // namespace ocrtune
