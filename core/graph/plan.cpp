// Planning takes four steps: the operators with their layouts, which gradients are wanted, the
// times at which each place is needed, and offsets in the arena.
#include "core/graph/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace ocrtune {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Collects the steps, then the times at which memory is needed, then the offsets.
class Planner {
 public:
  Planner(const Graph& graph, const Backend& backend, const Shape& image, bool training)
      : graph_(graph), backend_(backend) {
    plan_.image = image;
    plan_.training = training;
  }

  Result<Plan> make() {
    OCRTUNE_TRY(add_steps());
    mark_wanted_gradients();
    place_values();
    place_scratch();
    if (plan_.training) place_gradients();
    plan_.arena_bytes = assign_offsets(plan_.places);
    return std::move(plan_);
  }

 private:
  // Time runs over the forward steps, the loss, and the backward steps in reverse.
  int step_count() const { return static_cast<int>(plan_.steps.size()); }
  int loss_time() const { return step_count(); }
  int backward_time(int step) const { return 2 * step_count() - step; }

  int add_place(std::size_t bytes, int first, int last) {
    plan_.places.push_back({align_up(bytes), first, last, 0});
    return static_cast<int>(plan_.places.size()) - 1;
  }
  int add_value(const ImageDesc& desc) {
    plan_.values.push_back({desc, kNowhere, kNowhere, false});
    return static_cast<int>(plan_.values.size()) - 1;
  }

  Status add_steps() {
    const std::vector<Shape> shapes = OCRTUNE_TRY(infer_shapes(graph_, plan_.image));
    plan_value_.assign(at(graph_.value_count), kNowhere);
    plan_value_[0] = add_value({plan_.image, Layout{1}});
    find_joined(shapes);
    for (const Layer& layer : graph_.layers) {
      if (!is_joined(layer)) OCRTUNE_TRY(add_layer(layer, shapes));
    }
    const int last = plan_value_[at(graph_.output)];
    plan_.output = convert(last, Layout{plan_.values[at(last)].desc.shape.c});
    return Status();
  }

  // Finds the layers that the backend runs with the one behind them.
  void find_joined(const std::vector<Shape>& shapes) {
    joined_.assign(at(graph_.value_count), nullptr);
    if (!plan_.training) return;
    std::vector<const Layer*> producer(at(graph_.value_count), nullptr);
    std::vector<int> uses(at(graph_.value_count), 0);
    for (const Layer& layer : graph_.layers) {
      producer[at(layer.output)] = &layer;
      for (const int input : layer.inputs) ++uses[at(input)];
    }
    for (const Layer& layer : graph_.layers) {
      const Layer* first = producer[at(layer.inputs[0])];
      if (first == nullptr || first->output == graph_.output) continue;
      const bool alone = uses[at(first->output)] == 1 &&
                         std::all_of(layer.inputs.begin() + 1, layer.inputs.end(),
                                     [&](int input) { return input == first->inputs[0]; });
      if (alone && backend_.joins(*first, layer, shapes[at(first->inputs[0])])) {
        joined_[at(layer.output)] = first;
      }
    }
  }
  bool is_joined(const Layer& layer) const {
    return std::any_of(joined_.begin(), joined_.end(),
                       [&](const Layer* first) { return first == &layer; });
  }

  Status add_layer(const Layer& layer, const std::vector<Shape>& shapes) {
    PlanStep step;
    step.layer = &layer;
    const Layer* joined = joined_[at(layer.output)];
    const Layer& first = joined == nullptr ? layer : *joined;
    OperatorRequest request{layer, {}, shapes[at(layer.output)], plan_.training, false, joined};
    std::vector<ImageDesc> offered;
    for (const int input : first.inputs) {
      offered.push_back(plan_.values[at(plan_value_[at(input)])].desc);
    }
    for (std::size_t i = 0; i < first.inputs.size(); ++i) {
      const Layout wanted =
          backend_.wanted_layout(first, offered, shapes[at(first.output)], static_cast<int>(i));
      step.inputs.push_back(convert(plan_value_[at(first.inputs[i])], wanted));
      request.inputs.push_back(plan_.values[at(step.inputs.back())].desc);
      // Value 0 is the image, which has no gradient.
      if (step.inputs.back() != 0) request.wants_input_gradient = true;
    }
    step.op = OCRTUNE_TRY(backend_.create(request));
    if (joined != nullptr) step.parameters = joined->parameters;
    step.parameters.insert(step.parameters.end(), layer.parameters.begin(), layer.parameters.end());
    step.statistics = layer.statistics;
    step.output = add_value({request.output, step.op->needs().output_layout});
    plan_value_[at(layer.output)] = step.output;
    plan_.steps.push_back(std::move(step));
    return Status();
  }

  // The plan value that holds `value` in `layout`; adds a conversion where there is none yet.
  int convert(int value, Layout layout) {
    const ImageDesc from = plan_.values[at(value)].desc;
    if (from.layout == layout || same_order(from, layout)) return value;
    const auto [found, fresh] = conversions_.try_emplace({value, layout.block}, kNowhere);
    if (fresh) {
      PlanStep step;
      step.inputs = {value};
      step.output = found->second = add_value({from.shape, layout});
      plan_.steps.push_back(std::move(step));
    }
    return found->second;
  }

  // One pixel has the same bytes in all blocks that hold no padding.
  bool same_order(const ImageDesc& from, Layout to) const {
    const int channels = from.shape.c;
    return from.pixels() == 1 && channels % from.layout.block == 0 && channels % to.block == 0;
  }

  void mark_wanted_gradients() {
    for (const PlanStep& step : plan_.steps) {
      bool wanted = !step.parameters.empty();
      for (const int input : step.inputs) wanted |= plan_.values[at(input)].wants_gradient;
      plan_.values[at(step.output)].wants_gradient = wanted && plan_.training;
    }
  }

  void place_values() {
    // A value is needed until its last reader; in training that may be a step of backward.
    std::vector<int> last(plan_.values.size(), 0);
    const auto extend = [&](int value, int time) {
      last[at(value)] = std::max(last[at(value)], time);
    };
    for (int i = 0; i < step_count(); ++i) {
      const PlanStep& step = plan_.steps[at(i)];
      extend(step.output, i);
      for (const int input : step.inputs) extend(input, i);
      if (step.op == nullptr || !plan_.training) continue;
      if (step.op->needs().backward_reads_output) extend(step.output, backward_time(i));
      if (!step.op->needs().backward_reads_inputs) continue;
      for (const int input : step.inputs) extend(input, backward_time(i));
    }
    extend(plan_.output, loss_time());
    for (int i = 0; i < step_count(); ++i) {
      PlanValue& value = plan_.values[at(plan_.steps[at(i)].output)];
      value.place = add_place(value.desc.floats() * backend_.value_bytes(), i,
                              last[at(plan_.steps[at(i)].output)]);
    }
  }

  void place_scratch() {
    for (int i = 0; i < step_count(); ++i) {
      PlanStep& step = plan_.steps[at(i)];
      if (step.op == nullptr) continue;
      const OperatorNeeds& needs = step.op->needs();
      const int backward = backward_time(i);
      if (needs.forward_scratch_bytes > 0) {
        step.forward_scratch = add_place(needs.forward_scratch_bytes, i, i);
      }
      if (needs.saved_bytes > 0) {
        step.saved = add_place(needs.saved_bytes, i, plan_.training ? backward : i);
      }
      if (needs.backward_scratch_bytes > 0 && plan_.training) {
        step.backward_scratch = add_place(needs.backward_scratch_bytes, backward, backward);
      }
    }
  }

  void place_gradients() {
    index_consumers();
    PlanValue& output = plan_.values[at(plan_.output)];
    OCRTUNE_CHECK(output.wants_gradient);
    output.gradient = new_gradient(plan_.output, loss_time());
    // In the order of backward: the first consumer met writes the gradient, later ones add to it.
    for (int i = step_count() - 1; i >= 0; --i) {
      PlanStep& step = plan_.steps[at(i)];
      const PlanValue& result = plan_.values[at(step.output)];
      step.rules.assign(step.inputs.size(), GradientRule::none);
      step.extra.assign(step.inputs.size(), kNowhere);
      if (!result.wants_gradient) continue;
      OCRTUNE_CHECK(result.gradient != kNowhere);  // every value is used
      extend(result.gradient, backward_time(i));
      for (std::size_t k = 0; k < step.inputs.size(); ++k) place_input_gradient(i, k);
    }
  }

  void place_input_gradient(int i, std::size_t k) {
    PlanStep& step = plan_.steps[at(i)];
    const int input = step.inputs[k];
    PlanValue& value = plan_.values[at(input)];
    const int time = backward_time(i);
    if (!value.wants_gradient) return;
    if (value.gradient != kNowhere) {
      step.rules[k] = GradientRule::add;
      step.extra[k] = add_place(value.desc.floats() * backend_.value_bytes(), time, time);
      extend(value.gradient, time);
    } else if (is_sum(step) && may_share(input, plan_.values[at(step.output)].gradient, i)) {
      step.rules[k] = GradientRule::share;
      value.gradient = plan_.values[at(step.output)].gradient;
      owners_[value.gradient].push_back(input);
    } else {
      step.rules[k] = GradientRule::write;
      value.gradient = new_gradient(input, time);
    }
  }

  int new_gradient(int value, int time) {
    const int place =
        add_place(plan_.values[at(value)].desc.floats() * backend_.value_bytes(), time, time);
    owners_[place].push_back(value);
    return place;
  }

  void extend(int place, int time) {
    Place& there = plan_.places[at(place)];
    there.last = std::max(there.last, time);
  }

  static bool is_sum(const PlanStep& step) {
    return step.layer != nullptr && std::holds_alternative<Sum>(step.layer->operation);
  }

  void index_consumers() {
    producer_.assign(plan_.values.size(), -1);
    consumers_.assign(plan_.values.size(), {});
    for (int i = 0; i < step_count(); ++i) {
      producer_[at(plan_.steps[at(i)].output)] = i;
      for (const int input : plan_.steps[at(i)].inputs) consumers_[at(input)].push_back(i);
    }
  }

  // Later additions to the gradient of `value` must not reach an owner that has not read its own.
  bool may_share(int value, int place, int sum_step) const {
    const auto last_addition = [&](int v) {
      int last = -1;
      for (const int consumer : consumers_[at(v)]) {
        if (consumer < sum_step) last = std::max(last, consumer);
      }
      return last;
    };
    const auto& owners = owners_.at(place);
    return std::all_of(owners.begin(), owners.end(), [&](int other) {
      if (producer_[at(other)] >= sum_step) return true;  // has read it by now
      return producer_[at(other)] >= last_addition(value) &&
             producer_[at(value)] >= last_addition(other) && other != value;
    });
  }

  const Graph& graph_;
  const Backend& backend_;
  Plan plan_;
  std::vector<int> plan_value_;       // of each graph value
  std::vector<const Layer*> joined_;  // for each graph value, to the layer that makes it
  std::map<std::pair<int, int>, int> conversions_;
  std::map<int, std::vector<int>> owners_;  // values whose gradients share a place
  std::vector<int> producer_;
  std::vector<std::vector<int>> consumers_;
};

}  // namespace

std::size_t assign_offsets(std::vector<Place>& places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return places[a].bytes > places[b].bytes; });
  std::size_t arena = 0;
  std::vector<const Place*> placed;  // by offset
  for (const std::size_t index : order) {
    Place& place = places[index];
    std::size_t best = 0, best_gap = 0, end = 0;
    bool found = false;
    for (const Place* other : placed) {
      if (other->last < place.first || place.last < other->first) continue;
      if (other->offset > end) {
        const std::size_t gap = other->offset - end;
        // The smallest gap that fits; without one the place goes behind all that overlap in time.
        if (gap >= place.bytes && (!found || gap < best_gap)) {
          best = end;
          best_gap = gap;
          found = true;
        }
      }
      end = std::max(end, other->offset + other->bytes);
    }
    place.offset = found ? best : end;
    arena = std::max(arena, place.offset + place.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &place,
                         [](const Place* a, const Place* b) { return a->offset < b->offset; }),
        &place);
  }
  return arena;
}

Result<Plan> make_plan(const Graph& graph, const Backend& backend, const Shape& image,
                       bool training) {
  return Planner(graph, backend, image, training).make();
}

std::vector<std::size_t> final_gradients(const Graph& graph, const Plan& plan) {
  std::vector<std::size_t> from;
  std::size_t end = 0;
  for (const PlanStep& step : plan.steps) {
    from.push_back(end);
    for (const int index : step.parameters) {
      const Parameter& parameter = graph.parameters[static_cast<std::size_t>(index)];
      end = std::max(end, parameter.offset + parameter.count);
    }
  }
  return from;
}

std::vector<GradientPart> gradient_parts(const Graph& graph, const Plan& plan, std::size_t least) {
  constexpr std::size_t kLineFloats = 16;
  const std::vector<std::size_t> final_from = final_gradients(graph, plan);
  std::vector<GradientPart> parts;
  std::size_t end = graph.parameter_floats;
  for (std::size_t i = plan.steps.size(); least > 0 && i-- > 0;) {
    const PlanStep& step = plan.steps[i];
    if (step.parameters.empty()) continue;
    const std::size_t first = (final_from[i] + kLineFloats - 1) / kLineFloats * kLineFloats;
    if (first == 0) break;  // the rest, with all that is left of backward
    if (end < first + least) continue;
    parts.push_back({i, first, end});
    end = first;
  }
  parts.push_back({0, 0, end});
  return parts;
}

}  // namespace ocrtune
