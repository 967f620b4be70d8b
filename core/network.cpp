#include "core/network.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "core/plan.h"
#include "core/tensor.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMostPlans = 32;  // shapes kept; the one longest unused goes first

std::size_t at(int index) { return static_cast<std::size_t>(index); }

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void add_to(float* target, const float* source, std::size_t count) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < count; ++i) target[i] += source[i];
}

struct PlanEntry {
  Plan plan;
  std::uint64_t last_use = 0;
  std::vector<LayerTime> times;
  std::vector<std::size_t> final_from;  // what Network::train's watch hears after each step
};

struct FlatBuffers {
  const float* parameters = nullptr;
  float* statistics = nullptr;
  float* gradients = nullptr;
};

// One pass over a plan: turns places into pointers and calls the operators.
class Pass {
 public:
  Pass(const Graph& graph, PlanEntry& entry, std::byte* arena, const float* images,
       const FlatBuffers& buffers, bool training)
      : graph_(graph),
        plan_(entry.plan),
        times_(entry.times),
        final_from_(entry.final_from),
        arena_(arena),
        images_(images),
        buffers_(buffers),
        training_(training) {}

  Status forward() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const double start = now_seconds();
      const Status done = forward_step(plan_.steps[i]);
      if (!done) return done;
      times_[i].forward_seconds += now_seconds() - start;
    }
    return Status();
  }

  Status backward(const Network::GradientWatch& watch) {
    for (std::size_t i = plan_.steps.size(); i-- > 0;) {
      const PlanStep& step = plan_.steps[i];
      if (!plan_.values[at(step.output)].wants_gradient) continue;
      const double start = now_seconds();
      const Status done = backward_step(step);
      if (!done) return done;
      times_[i].backward_seconds += now_seconds() - start;
      if (!watch || step.layer == nullptr || step.layer->parameters.empty()) continue;
      const Status heard = watch(final_from_[i]);
      if (!heard) return heard;
    }
    return Status();
  }

  float* output() const { return value_pointer(plan_.output); }
  float* output_gradient() const { return gradient_pointer(plan_.output); }

 private:
  std::byte* place(int index) const {
    return index == kNowhere ? nullptr : arena_ + plan_.places[at(index)].offset;
  }
  float* floats(int index) const { return reinterpret_cast<float*>(place(index)); }
  float* value_pointer(int value) const { return floats(plan_.values[at(value)].place); }
  const float* input_pointer(int value) const {
    return value == 0 ? images_ : value_pointer(value);
  }
  float* gradient_pointer(int value) const { return floats(plan_.values[at(value)].gradient); }

  Status forward_step(const PlanStep& step) {
    if (step.op == nullptr) {
      copy_layout(input_pointer(step.inputs[0]), plan_.values[at(step.inputs[0])].desc,
                  value_pointer(step.output), plan_.values[at(step.output)].desc.layout);
      return Status();
    }
    return step.op->forward(make_call(step, step.forward_scratch));
  }

  Status backward_step(const PlanStep& step) {
    targets_.assign(step.inputs.size(), nullptr);
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.rules[k] == GradientRule::write) targets_[k] = gradient_pointer(step.inputs[k]);
      if (step.rules[k] == GradientRule::add) targets_[k] = floats(step.extra[k]);
    }
    if (step.op == nullptr) {
      copy_layout(gradient_pointer(step.output), plan_.values[at(step.output)].desc, targets_[0],
                  plan_.values[at(step.inputs[0])].desc.layout);
    } else {
      OperatorCall call = make_call(step, step.backward_scratch);
      call.output_gradient = gradient_pointer(step.output);
      call.input_gradients = targets_;
      parameter_gradients_.clear();
      for (const int index : step.layer->parameters) {
        parameter_gradients_.push_back(buffers_.gradients + graph_.parameters[at(index)].offset);
      }
      call.parameter_gradients = parameter_gradients_;
      const Status done = step.op->backward(call);
      if (!done) return done;
    }
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.rules[k] != GradientRule::add) continue;
      add_to(gradient_pointer(step.inputs[k]), targets_[k],
             plan_.values[at(step.inputs[k])].desc.floats());
    }
    return Status();
  }

  OperatorCall make_call(const PlanStep& step, int scratch) {
    inputs_.clear();
    parameters_.clear();
    statistics_.clear();
    for (const int input : step.inputs) inputs_.push_back(input_pointer(input));
    for (const int index : step.layer->parameters) {
      parameters_.push_back(buffers_.parameters + graph_.parameters[at(index)].offset);
    }
    for (const int index : step.layer->statistics) {
      statistics_.push_back(buffers_.statistics + graph_.statistics[at(index)].offset);
    }
    OperatorCall call;
    call.training = training_;
    call.inputs = inputs_;
    call.output = value_pointer(step.output);
    call.parameters = parameters_;
    call.statistics = statistics_;
    call.saved = place(step.saved);
    call.scratch = place(scratch);
    return call;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<LayerTime>& times_;
  const std::vector<std::size_t>& final_from_;
  std::byte* arena_;
  const float* images_;
  FlatBuffers buffers_;
  bool training_;
  std::vector<const float*> inputs_, parameters_;
  std::vector<float*> statistics_, targets_, parameter_gradients_;
};

Status check_batch(const Batch& batch) {
  const std::size_t expected =
      ImageDesc{{batch.count, batch.channels, batch.height, batch.width}, Layout{1}}.floats();
  if (batch.count < 1 || batch.images.size() != expected) {
    return Error{
        ErrorKind::usage,
        fmt::format("a batch of {} images of {} x {} x {} must hold {} floats, not {}", batch.count,
                    batch.channels, batch.height, batch.width, expected, batch.images.size())};
  }
  return Status();
}

Shape batch_shape(const Batch& batch) {
  return {batch.count, batch.channels, batch.height, batch.width};
}

}  // namespace

struct Network::State {
  const Graph& graph;
  const Backend& backend;
  std::map<std::tuple<int, int, int, int, bool>, PlanEntry> plans;
  Memory arena;
  std::uint64_t uses = 0;

  static std::tuple<int, int, int, int, bool> key(const Shape& shape, bool training) {
    return {shape.n, shape.c, shape.h, shape.w, training};
  }

  void forget_oldest() {
    if (plans.size() < kMostPlans) return;
    plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }

  Result<PlanEntry*> entry(const Shape& shape, bool training) {
    auto found = plans.find(key(shape, training));
    if (found == plans.end()) {
      forget_oldest();
      Result<Plan> plan = make_plan(graph, backend, shape, training);
      if (!plan) return plan.error();
      found = plans.emplace(key(shape, training), PlanEntry{std::move(*plan), 0, {}, {}}).first;
      found->second.final_from = final_gradients(graph, found->second.plan);
      for (const PlanStep& step : found->second.plan.steps) {
        found->second.times.push_back({step.layer == nullptr ? "convert" : step.layer->name, 0, 0});
      }
    }
    found->second.last_use = ++uses;
    if (found->second.plan.arena_bytes > arena.size()) {
      arena = Memory();  // give back first: nothing in it is needed between calls
      Result<Memory> larger = Memory::allocate(found->second.plan.arena_bytes);
      if (!larger) return larger.error();
      arena = std::move(*larger);
    }
    return &found->second;
  }
};

Network::Network(const Graph& graph, const Backend& backend)
    : state_(std::make_unique<State>(State{graph, backend, {}, {}, 0})) {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;

Status Network::prepare(const Shape& image, bool training) {
  const Result<PlanEntry*> entry = state_->entry(image, training);
  return entry ? Status() : Status(entry.error());
}

Result<CtcLoss> Network::train(const Batch& batch, std::span<const float> parameters,
                               std::span<float> statistics, std::span<float> gradients,
                               const GradientWatch& watch) {
  const Status fits = check_batch(batch);
  if (!fits) return fits.error();
  const Result<PlanEntry*> entry = state_->entry(batch_shape(batch), true);
  if (!entry) return entry.error();
  OCRTUNE_CHECK(batch.labels.size() == static_cast<std::size_t>(batch.count));
  OCRTUNE_CHECK(parameters.size() >= state_->graph.parameter_floats &&
                gradients.size() >= state_->graph.parameter_floats &&
                statistics.size() >= state_->graph.statistic_floats);
  Pass pass(state_->graph, **entry, state_->arena.bytes(), batch.images.data(),
            {parameters.data(), statistics.data(), gradients.data()}, true);
  const Status forward = pass.forward();
  if (!forward) return forward.error();
  const ImageDesc& output = (*entry)->plan.values[at((*entry)->plan.output)].desc;
  CtcLoss loss = ctc_loss({pass.output(), output.floats()}, output.shape.w, output.shape.c,
                          batch.labels, pass.output_gradient());
  const Status backward = pass.backward(watch);
  if (!backward) return backward.error();
  return loss;
}

Result<std::span<const float>> Network::infer(const Batch& batch, std::span<const float> parameters,
                                              std::span<const float> statistics) {
  const Status fits = check_batch(batch);
  if (!fits) return fits.error();
  const Result<PlanEntry*> entry = state_->entry(batch_shape(batch), false);
  if (!entry) return entry.error();
  // Inference reads the statistics only; the call's pointer is shared with training.
  Pass pass(state_->graph, **entry, state_->arena.bytes(), batch.images.data(),
            {parameters.data(), const_cast<float*>(statistics.data()), nullptr}, false);
  const Status forward = pass.forward();
  if (!forward) return forward.error();
  const ImageDesc& output = (*entry)->plan.values[at((*entry)->plan.output)].desc;
  return std::span<const float>(pass.output(), output.floats());
}

int Network::steps_of(const Shape& image) const {
  for (const bool training : {true, false}) {
    const auto found = state_->plans.find(State::key(image, training));
    if (found == state_->plans.end()) continue;
    const Plan& plan = found->second.plan;
    return plan.values[at(plan.output)].desc.shape.w;
  }
  OCRTUNE_CHECK(false);
}

std::vector<LayerTime> Network::layer_times(const Shape& image) const {
  for (const bool training : {true, false}) {
    const auto found = state_->plans.find(State::key(image, training));
    if (found != state_->plans.end()) return found->second.times;
  }
  return {};
}

Result<std::size_t> network_arena_bytes(const Graph& graph, const Backend& backend,
                                        const Shape& image, bool training) {
  const Result<Plan> plan = make_plan(graph, backend, image, training);
  if (!plan) return plan.error();
  return plan->arena_bytes;
}

}  // namespace ocrtune
