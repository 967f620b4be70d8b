// A plan for each shape is made once and kept; all plans use one arena, as only one pass runs at a
// time. Pass turns the plan's places into pointers. Inference goes through in parts that fit in the
// cache.
#include "core/graph/network.h"

#include <omp.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "core/graph/plan.h"
#include "core/graph/tensor.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxPlans = 32;  // shapes kept; the one longest unused goes first

// Activations of one pass of inference, for each thread: what fits in a core's caches. With 1 MiB
// of L2 and 32 MiB of shared L3, 16 and 32 images of ppocr-mobile cost 17 and 21 % more CPU time
// each than 4 (8 MiB), with two threads 16 cost 18 % more than 8.
constexpr std::size_t kCachedBytes = std::size_t{19} << 19;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

void add_to(float* target, const float* source, std::size_t count) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < count; ++i) target[i] += source[i];
}

struct PlanEntry {
  Plan plan;
  std::uint64_t last_use = 0;
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
        final_from_(entry.final_from),
        arena_(arena),
        images_(images),
        buffers_(buffers),
        training_(training) {}

  Status forward(bool fixed_parameters = false) {
    fixed_parameters_ = fixed_parameters;
    for (const PlanStep& step : plan_.steps) OCRTUNE_TRY(forward_step(step));
    return Status();
  }

  Status backward(const Network::GradientWatch& watch) {
    for (std::size_t i = plan_.steps.size(); i-- > 0;) {
      const PlanStep& step = plan_.steps[i];
      if (!plan_.values[at(step.output)].wants_gradient) continue;
      OCRTUNE_TRY(backward_step(step));
      if (!watch || step.parameters.empty()) continue;
      OCRTUNE_TRY(watch(final_from_[i]));
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
    // A null target means that the operator need not write this gradient.
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
      for (const int index : step.parameters) {
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
    for (const int index : step.parameters) {
      parameters_.push_back(buffers_.parameters + graph_.parameters[at(index)].offset);
    }
    for (const int index : step.statistics) {
      statistics_.push_back(buffers_.statistics + graph_.statistics[at(index)].offset);
    }
    OperatorCall call;
    call.training = training_;
    call.fixed_parameters = fixed_parameters_;
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
  const std::vector<std::size_t>& final_from_;
  std::byte* arena_;
  const float* images_;
  FlatBuffers buffers_;
  bool training_, fixed_parameters_ = false;
  std::vector<const float*> inputs_, parameters_;
  std::vector<float*> statistics_, targets_, parameter_gradients_;
};

std::size_t logit_floats(const Plan& plan) { return plan.values[at(plan.output)].desc.floats(); }

// How many of the images go through at once, in parts of equal size, if all need `arena_bytes`.
int images_at_once(int images, std::size_t arena_bytes) {
  const std::size_t limit = kCachedBytes * at(omp_get_max_threads());
  if (arena_bytes <= limit) return images;
  const int most = std::max(1, static_cast<int>(limit * at(images) / arena_bytes));
  const int parts = (images + most - 1) / most;
  return (images + parts - 1) / parts;
}

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
  std::map<std::tuple<int, int, int, int, bool>, int> at_once;  // images, of inference shapes
  Memory arena;
  std::vector<float> logits;  // of batches that go through in parts
  std::uint64_t uses = 0;
  bool fixed_parameters = false;

  static std::tuple<int, int, int, int, bool> key(const Shape& shape, bool training) {
    return {shape.n, shape.c, shape.h, shape.w, training};
  }

  void forget_oldest() {
    if (plans.size() < kMaxPlans) return;
    plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }

  Result<PlanEntry*> entry(const Shape& shape, bool training) {
    auto found = plans.find(key(shape, training));
    if (found == plans.end()) {
      forget_oldest();
      Plan plan = OCRTUNE_TRY(make_plan(graph, backend, shape, training));
      found = plans.emplace(key(shape, training), PlanEntry{std::move(plan), 0, {}}).first;
      // The watch of train() is told these after each step of backward.
      found->second.final_from = final_gradients(graph, found->second.plan);
    }
    found->second.last_use = ++uses;
    if (found->second.plan.arena_bytes > arena.size()) {
      arena = Memory();  // give back first: nothing in it is needed between calls
      arena = OCRTUNE_TRY(Memory::allocate(found->second.plan.arena_bytes));
    }
    return &found->second;
  }

  // The shape of which a batch is made in inference.
  Result<Shape> part_of(const Shape& whole) {
    const auto known = at_once.find(key(whole, false));
    Shape part = whole;
    if (known != at_once.end()) {
      part.n = known->second;
      return part;
    }
    const Plan plan = OCRTUNE_TRY(make_plan(graph, backend, whole, false));
    part.n = images_at_once(whole.n, plan.arena_bytes);
    at_once[key(whole, false)] = part.n;
    return part;
  }
};

Network::Network(const Graph& graph, const Backend& backend)
    : state_(std::make_unique<State>(State{graph, backend, {}, {}, {}, {}, 0, false})) {}
Network::~Network() = default;
Network::Network(Network&&) noexcept = default;

Status Network::prepare(const Shape& image, bool training) {
  Shape shape = image;
  if (!training) shape = OCRTUNE_TRY(state_->part_of(image));
  const Result<PlanEntry*> entry = state_->entry(shape, training);
  return entry ? Status() : Status(entry.error());
}

Result<CtcLoss> Network::train(const Batch& batch, std::span<const float> parameters,
                               std::span<float> statistics, std::span<float> gradients,
                               const GradientWatch& watch) {
  OCRTUNE_CHECK(!state_->fixed_parameters);
  OCRTUNE_TRY(check_batch(batch));
  PlanEntry* entry = OCRTUNE_TRY(state_->entry(batch_shape(batch), true));
  OCRTUNE_CHECK(batch.labels.size() == static_cast<std::size_t>(batch.count));
  OCRTUNE_CHECK(parameters.size() >= state_->graph.parameter_floats &&
                gradients.size() >= state_->graph.parameter_floats &&
                statistics.size() >= state_->graph.statistic_floats);
  Pass pass(state_->graph, *entry, state_->arena.bytes(), batch.images.data(),
            {parameters.data(), statistics.data(), gradients.data()}, true);
  OCRTUNE_TRY(pass.forward());
  const ImageDesc& output = entry->plan.values[at(entry->plan.output)].desc;
  CtcLoss loss = ctc_loss({pass.output(), output.floats()}, output.shape.w, output.shape.c,
                          batch.labels, pass.output_gradient());
  OCRTUNE_TRY(pass.backward(watch));
  return loss;
}

Result<std::span<const float>> Network::infer(const Batch& batch, std::span<const float> parameters,
                                              std::span<const float> statistics) {
  OCRTUNE_TRY(check_batch(batch));
  const Shape at_once = OCRTUNE_TRY(state_->part_of(batch_shape(batch)));
  const std::size_t image_floats = batch.images.size() / at(batch.count);
  for (int first = 0; first < batch.count;) {
    Shape shape = at_once;
    shape.n = std::min(shape.n, batch.count - first);
    PlanEntry* entry = OCRTUNE_TRY(state_->entry(shape, false));
    // Inference reads the statistics only; the call's pointer is shared with training.
    Pass pass(state_->graph, *entry, state_->arena.bytes(),
              batch.images.data() + image_floats * at(first),
              {parameters.data(), const_cast<float*>(statistics.data()), nullptr}, false);
    OCRTUNE_TRY(pass.forward(state_->fixed_parameters));
    const std::size_t floats = logit_floats(entry->plan);
    if (shape.n == batch.count) return std::span<const float>(pass.output(), floats);
    state_->logits.resize(floats / at(shape.n) * at(batch.count));
    std::copy_n(
        pass.output(), floats,
        state_->logits.begin() + static_cast<std::ptrdiff_t>(floats / at(shape.n) * at(first)));
    first += shape.n;
  }
  return std::span<const float>(state_->logits);
}

void Network::fix_parameters() { state_->fixed_parameters = true; }

Result<std::size_t> network_arena_bytes(const Graph& graph, const Backend& backend,
                                        const Shape& image, bool training) {
  const Plan plan = OCRTUNE_TRY(make_plan(graph, backend, image, training));
  const int part = training ? image.n : images_at_once(image.n, plan.arena_bytes);
  if (part == image.n) return plan.arena_bytes;
  const Plan fitting =
      OCRTUNE_TRY(make_plan(graph, backend, {part, image.c, image.h, image.w}, false));
  // A smaller shape may come closer to what is allowed.
  return std::max(fitting.arena_bytes, kCachedBytes * at(omp_get_max_threads())) +
         logit_floats(plan) * sizeof(float);
}

}  // namespace ocrtune
