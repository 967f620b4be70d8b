// The seam between a network and the code that computes it: one Operator per layer and shape.
//
// The rows are in core/backends/backend_table.h. An operator owns no
// activation memory; it says what it needs and core/graph/plan.h places it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/graph/graph.h"
#include "core/graph/tensor.h"

namespace ocrtune {

// All that one forward or backward call may touch. Pointers that a call has no use for are null.
// Activations and their gradients are floats, or of the type that Backend::value_bytes() tells of:
// pointers to them are then pointers to that.
struct OperatorCall {
  bool training = true;           // batch norm: statistics of this batch, and the running ones move
  bool fixed_parameters = false;  // they never change: an operator may keep a copy in its own order
  std::span<const float* const> inputs;
  float* output = nullptr;
  std::span<const float* const> parameters;
  // The parameters in the type of the activations, for backends whose activations are no floats.
  std::span<const void* const> parameter_copies;
  std::span<float* const> statistics;
  std::byte* saved = nullptr;    // written by forward, read by backward
  std::byte* scratch = nullptr;  // undefined contents
  // Backward only. Parameter gradients are written, not added to.
  const float* output_gradient = nullptr;
  std::span<float* const> input_gradients;  // null: not wanted
  std::span<float* const> parameter_gradients;
};

struct OperatorNeeds {
  Layout output_layout;
  bool backward_reads_inputs = true;
  bool backward_reads_output = false;
  std::size_t saved_bytes = 0;
  std::size_t forward_scratch_bytes = 0;
  std::size_t backward_scratch_bytes = 0;
  bool runs_plain_loops = false;  // the library had no kernel for these layouts
};

class Operator {
 public:
  virtual ~Operator() = default;
  virtual const OperatorNeeds& needs() const = 0;
  virtual Status forward(const OperatorCall& call) = 0;
  virtual Status backward(const OperatorCall& call) = 0;
};

struct OperatorRequest {
  const Layer& layer;
  std::vector<ImageDesc> inputs;  // in the layouts that wanted_layout() asked for
  Shape output;
  bool training = true;              // else forward() alone will be called
  bool wants_input_gradient = true;  // false for the first layer
  // A convolution that the operator runs before `layer`, the only one that reads its result; null:
  // none. Its input is then the only one, its parameters come first.
  const Layer* joined = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Of one number of an activation or its gradient.
  virtual std::size_t value_bytes() const { return sizeof(float); }
  // The layout in which `layer` takes input `index`, whose values are there as `offered`. Where
  // they differ the plan inserts a conversion.
  virtual Layout wanted_layout(const Layer& layer, std::span<const ImageDesc> offered,
                               const Shape& output, int index) const = 0;
  // Whether one operator runs both layers in training: `second` reads what `first` makes of `in`,
  // and `in` itself if it has more inputs.
  virtual bool joins(const Layer& /*first*/, const Layer& /*second*/, const Shape& /*in*/) const {
    return false;
  }
  // unsupported: this backend has no such operator; exhausted: no memory.
  virtual Result<std::unique_ptr<Operator>> create(const OperatorRequest& request) const = 0;
};

}  // namespace ocrtune
