// A graph for one batch shape: operators in order, and a place in one arena for every activation,
// gradient and scratch area, reused as soon as it is free.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "core/graph/backend.h"
#include "core/graph/graph.h"

namespace ocrtune {

// A range of the arena that is taken from time `first` to `last`, both inclusive.
struct Place {
  std::size_t bytes = 0;
  int first = 0, last = 0;
  std::size_t offset = 0;
};

// Gives each place an offset so that places whose times overlap do not share bytes; returns the
// size of the arena. Largest first into the lowest gap that fits.
std::size_t assign_offsets(std::vector<Place>& places);

inline constexpr int kNowhere = -1;

// What happens to the gradient that one layer hands to one of its inputs.
enum class GradientRule {
  none,   // nobody wants it
  write,  // the first: the operator writes it in place
  add,    // a later one: the operator writes to `extra`, which is then added
  share,  // a sum's gradient is its inputs': the same memory
};

struct PlanStep {
  const Layer* layer = nullptr;  // null: a layout conversion
  std::unique_ptr<Operator> op;  // null: a layout conversion
  std::vector<int> inputs;       // plan values
  int output = 0;                // plan value
  std::vector<int> parameters;   // of the layer, behind those of one that is joined to it
  std::vector<int> statistics;   // of the layer
  int saved = kNowhere, forward_scratch = kNowhere, backward_scratch = kNowhere;  // places
  std::vector<GradientRule> rules;                                                // for each input
  std::vector<int> extra;  // places; for rule add
};

// Value 0 is the image batch, which lies outside the arena.
struct PlanValue {
  ImageDesc desc;
  int place = kNowhere;
  int gradient = kNowhere;
  bool wants_gradient = false;
};

struct Plan {
  Shape image;
  bool training = true;
  std::vector<PlanStep> steps;
  std::vector<PlanValue> values;
  std::vector<Place> places;
  int output = 0;  // plan value, in layout [N, 1, T, classes]
  std::size_t arena_bytes = 0;
};

// usage: images too small for the graph; unsupported, exhausted: as Backend::create.
// `graph` must outlive the plan.
Result<Plan> make_plan(const Graph& graph, const Backend& backend, const Shape& image,
                       bool training);

// For each step: once backward has passed it, only earlier steps still write gradients, so all from
// this float on are final.
std::vector<std::size_t> final_gradients(const Graph& graph, const Plan& plan);

// Gradients [first, end) that are final once backward has passed step `step` of the plan.
struct GradientPart {
  std::size_t step = 0, first = 0, end = 0;
};

// All gradients in parts of `least` floats or more, in the order in which they become final; each
// begins at a whole line. The last may be smaller and ends with backward. `least` 0: one part.
std::vector<GradientPart> gradient_parts(const Graph& graph, const Plan& plan, std::size_t least);

}  // namespace ocrtune
