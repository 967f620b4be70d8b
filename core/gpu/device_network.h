// A graph on a GPU for one batch shape: plan, arena, forward, CTC loss, backward, AdamW - all on
// the device; the host sees the losses. Templates over the Value that activations are kept as and
// an Executor (core/gpu/ops/device_operator.h), which also has
//   allocate(bytes) -> Result<Buffer>, a move-only owner with as<T>()
//   upload(to, from, bytes)     has taken `from` when it returns; what is enqueued later sees it
//   download(to, from, bytes)   waits for all that is enqueued
//   capture_or_replay(recording, work)   does what `work` enqueues; may keep it and, from a later
//   call on with
//                            the same Recording, replay what it kept without asking `work`
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/gpu/device_backend.h"
#include "core/gpu/ops/device_ctc.h"
#include "core/graph/batch.h"
#include "core/graph/ctc.h"
#include "core/graph/optimizer.h"
#include "core/graph/plan.h"

namespace ocrtune::device {

// Bytes that a training of this shape takes on the device: weights, gradients, moments, statistics,
// activations and scratch, images, labels and the loss's lattice. Libraries' own memory comes on
// top.
struct DeviceFootprint {
  std::size_t state_bytes = 0, arena_bytes = 0, batch_bytes = 0;
  std::size_t total() const { return state_bytes + arena_bytes + batch_bytes; }
};

struct DeviceUse {
  int max_label = 25;    // of any sample; unused where nothing is trained
  bool training = true;  // else infer() alone
  // The device's, zeroed, as many as the graph has parameters; null: own.
  float* gradients = nullptr;
  // The device's parameters and behind them statistics, shared by networks that only infer; null:
  // own.
  float* weights = nullptr;
  const void* copies = nullptr;  // of those parameters, as Values; unused where those are floats
  // Gradients are handed over in parts of so many floats or more; 0: all at once.
  std::size_t part_floats = 0;
};

// All parameters once more as Values: what products and convolutions read.
template <typename Value, typename Executor>
Status copy_parameters(Executor& executor, const float* from, std::size_t count, Value* to) {
  return spans(executor, count, CastSpan<float, Value>{from, to});
}

template <typename Executor, typename Value = float>
class DeviceNetwork {
 public:
  using Buffer = typename Executor::Buffer;

  // `graph` and `executor` must outlive the network. exhausted: the device has too little memory;
  // usage: images too small for the graph.
  static Result<std::unique_ptr<DeviceNetwork>> create(const Graph& graph, Executor& executor,
                                                       const Shape& image, const DeviceUse& use) {
    std::unique_ptr<DeviceNetwork> network(new DeviceNetwork(graph, executor, use));
    network->plan_ = OCRTUNE_TRY(make_plan(graph, network->backend_, image, use.training));
    network->parts_ = gradient_parts(graph, network->plan_, use.training ? use.part_floats : 0);
    for (std::size_t k = 0; k < network->parts_.size(); ++k)
      network->training_recording_.emplace_back();
    OCRTUNE_TRY(network->allocate());
    return Result<std::unique_ptr<DeviceNetwork>>(std::move(network));
  }

  DeviceFootprint footprint() const {
    const std::size_t rows = many(plan_.image.n) * many(steps());
    DeviceFootprint out;
    out.arena_bytes = plan_.arena_bytes;
    out.state_bytes = (graph_.parameter_floats + graph_.statistic_floats) * sizeof(float);
    out.batch_bytes = floats(plan_.image) * sizeof(float);
    if (kCopies) {
      out.state_bytes += graph_.parameter_floats * sizeof(Value);
      out.batch_bytes += floats(plan_.image) * sizeof(Value);
    }
    if (!plan_.training) return out;
    out.state_bytes += graph_.parameter_floats * (3 * sizeof(float) + 1);
    out.batch_bytes +=
        many(plan_.image.n) * (many(max_label_) + 1) * sizeof(int) +
        (rows + 2 * rows * many(2 * max_label_ + 1) + many(plan_.image.n)) * sizeof(double);
    return out;
  }

  Status set_state(std::span<const float> parameters, std::span<const float> statistics) {
    OCRTUNE_TRY(executor_.upload(this->parameters(), parameters.data(), parameters.size_bytes()));
    OCRTUNE_TRY(executor_.upload(this->statistics(), statistics.data(), statistics.size_bytes()));
    if (!kCopies) return Status();
    return copy_parameters(executor_, this->parameters(), graph_.parameter_floats,
                           copies_.template as<Value>());
  }
  Status get_parameters(std::span<float> to) {
    return executor_.download(to.data(), parameters(), to.size_bytes());
  }
  Status get_gradients(std::span<float> to) {
    return executor_.download(to.data(), gradients(), to.size_bytes());
  }
  Status get_statistics(std::span<float> to) {
    return executor_.download(to.data(), statistics(), to.size_bytes());
  }
  // First and second moments, one behind the other, and the updates so far.
  Status get_moments(std::span<float> to) {
    return executor_.download(to.data(), moments_.template as<float>(), to.size_bytes());
  }
  Status set_moments(std::span<const float> from, std::int64_t updates) {
    updates_ = updates;
    return executor_.upload(moments_.template as<float>(), from.data(), from.size_bytes());
  }
  std::int64_t updates() const { return updates_; }
  float* gradients() const {
    return use_.gradients != nullptr ? use_.gradients : gradients_.template as<float>();
  }
  int steps() const { return output().shape.w; }  // T
  float* parameters() const {
    return use_.weights != nullptr ? use_.weights : parameters_.template as<float>();
  }
  float* statistics() const {
    return use_.weights != nullptr ? use_.weights + graph_.parameter_floats
                                   : statistics_.template as<float>();
  }

  // Forward, loss, backward; the gradients lie in gradients() afterwards. usage: another shape or
  // longer labels than the network was made for.
  Result<CtcLoss> train(const Batch& batch) {
    OCRTUNE_TRY(start_training(batch, {}));
    return finished_loss();
  }

  // Told that what is enqueued so far makes a part of the gradients final; may enqueue on other
  // streams.
  using HandOver = std::function<Status(const GradientPart&)>;

  // The same, only enqueued. Backward is kept and replayed in one piece for each part, so that what
  // `hand_over` (may be empty) does stands between the pieces and is never kept.
  Status start_training(const Batch& batch, const HandOver& hand_over) {
    OCRTUNE_TRY(upload_batch(batch));
    training_ = true;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      OCRTUNE_TRY(
          executor_.capture_or_replay(training_recording_[k], [&] { return enqueue_part(k); }));
      if (hand_over) OCRTUNE_TRY(hand_over(parts_[k]));
    }
    return Status();
  }

  // Of the training that was started last; waits for it and for all that was enqueued after it.
  Result<CtcLoss> finished_loss() {
    CtcLoss loss;
    loss.sample_loss.resize(many(plan_.image.n));
    OCRTUNE_TRY(executor_.download(loss.sample_loss.data(), ctc_sizes().loss,
                                   loss.sample_loss.size() * sizeof(double)));
    sum_up(loss);
    return loss;
  }

  // Logits [N, T, classes] with the running statistics; labels are not looked at.
  Result<std::vector<float>> infer(const Batch& batch) {
    OCRTUNE_TRY(upload_images(batch));
    training_ = false;
    OCRTUNE_TRY(executor_.capture_or_replay(reading_recording_, [&] { return enqueue_forward(); }));
    std::vector<Value> logits(many(plan_.image.n) * many(steps()) * many(classes()));
    OCRTUNE_TRY(
        executor_.download(logits.data(), value(plan_.output), logits.size() * sizeof(Value)));
    return std::vector<float>(logits.begin(), logits.end());
  }

  // One AdamW step on all parameters.
  Status update(const AdamW& settings) {
    const auto t = static_cast<double>(++updates_);
    const double correction1 = 1 - std::pow(settings.beta1, t);
    const double correction2 = 1 - std::pow(settings.beta2, t);
    auto* share = clipping_.template as<float>();
    if (settings.clip_norm > 0) {
      OCRTUNE_TRY(sum_channels(executor_, clip_sums(),
                               SquareTerm{gradients(), graph_.parameter_floats},
                               StoreShare{settings.clip_norm, share},
                               clipping_.template as<std::byte>() + kMemoryAlignment));
    }
    return executor_.for_each(
        graph_.parameter_floats,
        AdamWEach<Value>{static_cast<float>(1 - settings.learning_rate * settings.weight_decay),
                         static_cast<float>(settings.beta1), static_cast<float>(settings.beta2),
                         static_cast<float>(settings.learning_rate / correction1),
                         static_cast<float>(1 / std::sqrt(correction2)),
                         static_cast<float>(settings.epsilon), gradients(),
                         settings.clip_norm > 0 ? share : nullptr,
                         decays_.template as<std::uint8_t>(), moments_.template as<float>(),
                         moments_.template as<float>() + graph_.parameter_floats, parameters(),
                         kCopies ? copies_.template as<Value>() : nullptr});
  }

 private:
  // Whether activations are no floats, so that images and parameters are kept as Values as well.
  static constexpr bool kCopies = !std::is_same_v<Value, float>;

  DeviceNetwork(const Graph& graph, Executor& executor, const DeviceUse& use)
      : graph_(graph),
        executor_(executor),
        backend_(executor),
        use_(use),
        max_label_(std::max(1, use.max_label)) {}

  const ImageDesc& output() const { return plan_.values[many(plan_.output)].desc; }
  int classes() const { return output().shape.c; }

  Status allocate_one(Buffer& into, std::size_t bytes) {
    into = OCRTUNE_TRY(executor_.allocate(std::max<std::size_t>(bytes, 64)));
    return executor_.clear(into.template as<void>(), std::max<std::size_t>(bytes, 64));
  }

  Status allocate() {
    const std::size_t state = graph_.parameter_floats * sizeof(float);
    const std::size_t count = many(plan_.image.n), rows = count * many(steps());
    const std::size_t cells = rows * many(2 * max_label_ + 1);
    if (use_.weights == nullptr) {
      OCRTUNE_TRY(allocate_one(parameters_, state));
      OCRTUNE_TRY(allocate_one(statistics_, graph_.statistic_floats * sizeof(float)));
    }
    OCRTUNE_TRY(allocate_one(arena_, plan_.arena_bytes));
    OCRTUNE_TRY(allocate_one(images_, floats(plan_.image) * sizeof(float)));
    if (kCopies) {
      OCRTUNE_TRY(allocate_one(image_copies_, floats(plan_.image) * sizeof(Value)));
      if (use_.weights == nullptr) {
        OCRTUNE_TRY(allocate_one(copies_, graph_.parameter_floats * sizeof(Value)));
      }
    }
    if (!plan_.training) return Status();
    if (use_.gradients == nullptr) OCRTUNE_TRY(allocate_one(gradients_, state));
    OCRTUNE_TRY(allocate_one(moments_, 2 * state));
    OCRTUNE_TRY(allocate_one(clipping_, kMemoryAlignment + clip_sums().bytes(SquareTerm::kSums)));
    OCRTUNE_TRY(allocate_one(labels_, count * many(max_label_) * sizeof(int)));
    OCRTUNE_TRY(allocate_one(lengths_, count * sizeof(int)));
    OCRTUNE_TRY(allocate_one(lattice_, (rows + 2 * cells + count) * sizeof(double)));
    std::vector<std::uint8_t> decays(graph_.parameter_floats, 0);
    for (const Parameter& parameter : graph_.parameters) {
      std::fill_n(decays.begin() + static_cast<std::ptrdiff_t>(parameter.offset), parameter.count,
                  parameter.decays ? std::uint8_t{1} : std::uint8_t{0});
    }
    OCRTUNE_TRY(allocate_one(decays_, decays.size()));
    return executor_.upload(decays_.template as<std::uint8_t>(), decays.data(), decays.size());
  }

  Status upload_images(const Batch& batch) {
    const Shape shape{batch.count, batch.channels, batch.height, batch.width};
    if (shape != plan_.image || batch.images.size() != floats(shape)) {
      return Error{ErrorKind::usage, "a batch of another shape than the network was made for"};
    }
    return executor_.upload(images_.template as<float>(), batch.images.data(),
                            batch.images.size() * sizeof(float));
  }

  Status upload_batch(const Batch& batch) {
    if (batch.labels.size() != many(batch.count)) {
      return Error{ErrorKind::usage, "a batch with more or fewer labels than images"};
    }
    OCRTUNE_TRY(upload_images(batch));
    std::vector<int> labels(many(batch.count) * many(max_label_), 0), lengths;
    for (std::size_t n = 0; n < batch.labels.size(); ++n) {
      if (batch.labels[n].size() > many(max_label_)) {
        return Error{ErrorKind::usage, "a label longer than the network was made for"};
      }
      for (const int symbol : batch.labels[n]) {
        if (symbol > 0 && symbol < classes()) continue;
        return Error{ErrorKind::usage, "a label holds a class that there is not"};
      }
      std::copy(batch.labels[n].begin(), batch.labels[n].end(),
                labels.begin() + static_cast<std::ptrdiff_t>(n * many(max_label_)));
      lengths.push_back(static_cast<int>(batch.labels[n].size()));
    }
    OCRTUNE_TRY(
        executor_.upload(labels_.template as<int>(), labels.data(), labels.size() * sizeof(int)));
    return executor_.upload(lengths_.template as<int>(), lengths.data(),
                            lengths.size() * sizeof(int));
  }

  // All gradients as one channel of many samples.
  SumSizes clip_sums() const {
    constexpr std::size_t kPlane = 1024;
    return sum_sizes(static_cast<int>((graph_.parameter_floats + kPlane - 1) / kPlane), 1, kPlane);
  }

  CtcSizes<Value> ctc_sizes() const {
    const std::size_t rows = many(plan_.image.n) * many(steps());
    const std::size_t cells = rows * many(2 * max_label_ + 1);
    auto* work = lattice_.template as<double>();
    return {plan_.image.n,
            steps(),
            classes(),
            max_label_,
            values(plan_.output),
            labels_.template as<int>(),
            lengths_.template as<int>(),
            work,
            work + rows,
            work + rows + cells,
            work + rows + 2 * cells};
  }

  Status enqueue_forward() {
    if (kCopies) {
      OCRTUNE_TRY(spans(executor_, floats(plan_.image),
                        CastSpan<float, Value>{images_.template as<float>(),
                                               image_copies_.template as<Value>()}));
    }
    for (const PlanStep& step : plan_.steps) OCRTUNE_TRY(forward_step(step));
    return Status();
  }

  // Backward from where the part before ended; the first begins with forward and the loss.
  Status enqueue_part(std::size_t k) {
    if (k == 0) {
      OCRTUNE_TRY(enqueue_forward());
      OCRTUNE_TRY(enqueue_loss());
    }
    for (std::size_t i = k == 0 ? plan_.steps.size() : parts_[k - 1].step; i-- > parts_[k].step;) {
      const PlanStep& step = plan_.steps[i];
      if (!plan_.values[many(step.output)].wants_gradient) continue;
      OCRTUNE_TRY(backward_step(step));
    }
    return Status();
  }

  Status enqueue_loss() {
    const std::size_t count = many(plan_.image.n), rows = count * many(steps());
    const CtcSizes<Value> plan = ctc_sizes();
    OCRTUNE_TRY(executor_.rows(rows, CtcNormalizeRow<Value>{plan}));
    OCRTUNE_TRY(executor_.rows(count, CtcRecursionRow<Value>{plan}));
    return executor_.rows(rows, CtcGradientRow<Value>{plan, as_values(gradient(plan_.output))});
  }

  std::byte* place(int index) const {
    return index == kNowhere ? nullptr
                             : arena_.template as<std::byte>() + plan_.places[many(index)].offset;
  }
  // As calls hand them on: operators know that they are Values.
  float* value(int index) const {
    if (index != 0) return reinterpret_cast<float*>(place(plan_.values[many(index)].place));
    return (kCopies ? image_copies_ : images_).template as<float>();
  }
  float* gradient(int index) const {
    return reinterpret_cast<float*>(place(plan_.values[many(index)].gradient));
  }

  static Value* as_values(float* activation) { return reinterpret_cast<Value*>(activation); }
  const Value* values(int index) const { return as_values(value(index)); }

  // A conversion is only ever between [N, C, P] and [N, P, C]: the logits at the end.
  Status convert(const ImageDesc& from, const Value* source, Value* to) {
    const int plane = static_cast<int>(pixels(from.shape));
    const bool to_tokens = from.layout.block == 1;
    return executor_.for_each(floats(from.shape),
                              SwapEach<Value>{to_tokens ? from.shape.c : plane,
                                              many(to_tokens ? plane : from.shape.c), source, to});
  }

  Status forward_step(const PlanStep& step) {
    if (step.op == nullptr) {
      return convert(plan_.values[many(step.inputs[0])].desc, values(step.inputs[0]),
                     as_values(value(step.output)));
    }
    return step.op->forward(make_call(step, step.forward_scratch));
  }

  Status backward_step(const PlanStep& step) {
    targets_.assign(step.inputs.size(), nullptr);
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.rules[k] == GradientRule::write) targets_[k] = gradient(step.inputs[k]);
      if (step.rules[k] == GradientRule::add) {
        targets_[k] = reinterpret_cast<float*>(place(step.extra[k]));
      }
    }
    if (step.op == nullptr) {
      OCRTUNE_TRY(convert(plan_.values[many(step.output)].desc, as_values(gradient(step.output)),
                          as_values(targets_[0])));
    } else {
      OperatorCall call = make_call(step, step.backward_scratch);
      call.output_gradient = gradient(step.output);
      call.input_gradients = targets_;
      parameter_gradients_.clear();
      for (const int index : step.parameters) {
        parameter_gradients_.push_back(gradients() + graph_.parameters[many(index)].offset);
      }
      call.parameter_gradients = parameter_gradients_;
      OCRTUNE_TRY(step.op->backward(call));
    }
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.rules[k] != GradientRule::add) continue;
      Value* sum = as_values(gradient(step.inputs[k]));
      OCRTUNE_TRY(spans(executor_, floats(plan_.values[many(step.inputs[k])].desc.shape),
                        SumSpan<Value>{sum, as_values(targets_[k]), sum}));
    }
    return Status();
  }

  // What products read: the parameters themselves where those are Values.
  const Value* copies() const {
    if constexpr (kCopies) {
      return use_.weights != nullptr ? static_cast<const Value*>(use_.copies)
                                     : copies_.template as<Value>();
    } else {
      return parameters();
    }
  }

  OperatorCall make_call(const PlanStep& step, int scratch) {
    inputs_.clear();
    parameter_pointers_.clear();
    copy_pointers_.clear();
    statistic_pointers_.clear();
    for (const int input : step.inputs) inputs_.push_back(value(input));
    for (const int index : step.parameters) {
      const std::size_t offset = graph_.parameters[many(index)].offset;
      parameter_pointers_.push_back(parameters() + offset);
      copy_pointers_.push_back(copies() + offset);
    }
    for (const int index : step.statistics) {
      statistic_pointers_.push_back(statistics() + graph_.statistics[many(index)].offset);
    }
    OperatorCall call;
    call.training = training_;
    call.inputs = inputs_;
    call.output = value(step.output);
    call.parameters = parameter_pointers_;
    call.parameter_copies = copy_pointers_;
    call.statistics = statistic_pointers_;
    call.saved = place(step.saved);
    call.scratch = place(scratch);
    return call;
  }

  const Graph& graph_;
  Executor& executor_;
  DeviceBackend<Executor, Value> backend_;
  DeviceUse use_;
  int max_label_;
  bool training_ = true;
  Plan plan_;
  std::vector<GradientPart> parts_;
  Buffer parameters_, gradients_, moments_, statistics_, arena_, images_, labels_, lengths_,
      lattice_, decays_, clipping_, copies_, image_copies_;
  std::deque<typename Executor::Recording> training_recording_;  // one for each part
  typename Executor::Recording reading_recording_;               // gone before what they use
  std::int64_t updates_ = 0;
  std::vector<const float*> inputs_, parameter_pointers_;
  std::vector<const void*> copy_pointers_;
  std::vector<float*> statistic_pointers_, targets_, parameter_gradients_;
};

}  // namespace ocrtune::device
