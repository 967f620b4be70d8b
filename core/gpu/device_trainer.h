// A training rank on a GPU behind the Trainer seam (core/train/trainer.h), for any Executor of
// core/gpu/device_network.h, which also has
//   stamp(slot)                 marks the place behind what is enqueued; four slots
//   seconds_between(from, to)   of two marks that have passed
//
// A step is enqueued as a whole and waited for once. With several ranks the gradients lie in the
// Comm's memory, which is the device's, and parts of them are averaged while backward goes on.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/backends/gradient_check.h"
#include "core/backends/onednn/rows.h"
#include "core/gpu/device_check.h"
#include "core/gpu/device_network.h"
#include "core/graph/checkpoint.h"
#include "core/models/model.h"
#include "core/train/trainer.h"

namespace ocrtune::device {

template <typename Executor, typename Value = float>
class DeviceTrainer final : public Trainer {
 public:
  using Net = DeviceNetwork<Executor, Value>;

  // `executor` and `comm` must outlive the trainer. Errors as Trainer::create; unsupported too:
  // multi-scale batches, a model with layers that the GPU core lacks.
  static Result<std::unique_ptr<Trainer>> create(const TrainerOptions& options, Executor& executor,
                                                 Comm& comm) {
    const ModelRow* model = find_model(options.model);
    if (model == nullptr) return Error{ErrorKind::usage, "there is no model " + options.model};
    if (!options.heights.empty() || !options.widths.empty()) {
      return Error{ErrorKind::unsupported, "the GPU core takes batches of one shape alone"};
    }
    if (options.accumulate != 1) {
      return Error{ErrorKind::unsupported, "the GPU core exchanges the gradients of each step"};
    }
    OCRTUNE_TRY(check_schedule(schedule_of(options)));
    if (options.batch < 1 || options.classes < 2 || options.height < 1 || options.width < 1) {
      return Error{ErrorKind::usage, "batch, classes, height and width must make sense"};
    }
    for (const double value : {options.weight_decay, options.clip_norm}) {
      if (std::isfinite(value) && value >= 0) continue;
      return Error{ErrorKind::usage, "weight decay and most gradient norm are numbers from 0 on"};
    }
    std::unique_ptr<DeviceTrainer> trainer(new DeviceTrainer(options, *model, executor, comm));
    OCRTUNE_TRY(trainer->prepare());
    return std::unique_ptr<Trainer>(std::move(trainer));
  }

  Result<StepReport> step(const Batch& batch) override {
    OCRTUNE_TRY(executor_.stamp(0));
    OCRTUNE_TRY(network_->start_training(spelt(batch), hand_over()));
    OCRTUNE_TRY(executor_.stamp(1));
    if (several() && options_.bucket_bytes > 0) OCRTUNE_TRY(comm_.finish_means(nullptr));
    if (several() && options_.bucket_bytes == 0) {
      OCRTUNE_TRY(comm_.all_reduce_mean(0, graph_.parameter_floats, nullptr));
    }
    OCRTUNE_TRY(executor_.stamp(2));
    AdamW settings;
    settings.learning_rate = schedule_of(options_).rate_at(steps());
    settings.weight_decay = options_.weight_decay;
    settings.clip_norm = options_.clip_norm;
    OCRTUNE_TRY(network_->update(settings));
    OCRTUNE_TRY(executor_.stamp(3));
    const CtcLoss loss = OCRTUNE_TRY(network_->finished_loss());
    StepReport report;
    report.loss = loss.mean;
    report.impossible_labels = loss.impossible;
    const Result<double> whole = executor_.seconds_between(0, 3);
    const Result<double> exchange = executor_.seconds_between(1, 2);  // what backward did not hide
    if (!whole) return whole.error();
    if (!exchange) return exchange.error();
    report.all_reduce_seconds = several() ? *exchange : 0;
    report.compute_seconds = *whole - report.all_reduce_seconds;
    return report;
  }

  Result<double> check_against_reference() override {
    const std::size_t floats = graph_.parameter_floats;
    std::vector<float> parameters(floats), statistics(graph_.statistic_floats);
    OCRTUNE_TRY(network_->get_parameters(parameters));
    OCRTUNE_TRY(network_->get_statistics(statistics));
    constexpr bool kRounds = !std::is_same_v<Value, float>;
    double layers = 0;
    if (kRounds) {
      const Shape image{2, 3, options_.height, std::min(options_.width, model_.check_width)};
      const auto checked =
          check_layers<Value>(executor_, graph_, image, parameters, statistics, options_.seed);
      if (!checked) return checked.error();
      if (!(checked->error <= kMaxLayerError)) return layer_differs(*checked);
      layers = checked->error;
    }
    const GradientCheck check{.graph = &graph_,
                              .height = options_.height,
                              .width = options_.width,
                              .classes = options_.classes,
                              .check_width = model_.check_width,
                              .width_per_step = model_.width_per_step,
                              .seed = options_.seed,
                              .exact = options_.precision == "fp32",
                              .parameters = parameters,
                              .statistics = statistics,
                              .ends_alone = kRounds};
    const Result<double> whole = gradient_error(
        check, [&](const Batch& batch, std::span<float> gradients) -> Result<CtcLoss> {
          const Shape image{batch.count, 3, batch.height, batch.width};
          auto small = OCRTUNE_TRY(Net::create(graph_, executor_, image, {batch.width}));
          OCRTUNE_TRY(small->set_state(parameters, statistics));
          Result<CtcLoss> loss = small->train(batch);
          for (int run = 1; loss && run < executor_.runs_until_replay(); ++run) {
            static_cast<void>(loss = small->train(batch));  // what is replayed is checked too
          }
          if (!loss) return loss.error();
          OCRTUNE_TRY(small->get_gradients(gradients));
          return loss;
        });
    if (!whole) return whole.error();
    return *whole > layers ? *whole : std::isnan(*whole) ? *whole : layers;
  }

  // usage: a batch of another size of image, or a larger one, than the trainer was made for.
  Result<std::vector<float>> logits(const Batch& batch) override {
    auto rows = OCRTUNE_TRY(network_->infer(filled(batch)));
    rows.resize(rows.size() / many(options_.batch) * many(batch.count));
    return steps_first(rows, many(batch.count), many(options_.classes));
  }

  std::size_t parameter_count() const override { return graph_.parameter_count(); }
  std::int64_t steps() const override { return network_->updates(); }

  Status save(const std::string& path) const override {
    HostState state(graph_);
    OCRTUNE_TRY(network_->get_parameters(state.parameters));
    OCRTUNE_TRY(network_->get_statistics(state.statistics));
    OCRTUNE_TRY(network_->get_moments(state.moments));
    return write_checkpoint(path, owner(), network_->updates(),
                            {state.parameters, state.statistics, state.first(), state.second()});
  }

  Status load(const std::string& path) override {
    HostState state(graph_);
    const std::int64_t steps = OCRTUNE_TRY(read_checkpoint(
        path, owner(), {state.parameters, state.statistics, state.first(), state.second()}));
    OCRTUNE_TRY(network_->set_state(state.parameters, state.statistics));
    return network_->set_moments(state.moments, steps);
  }

 private:
  struct HostState {
    explicit HostState(const Graph& graph)
        : parameters(graph.parameter_floats),
          statistics(graph.statistic_floats),
          moments(2 * graph.parameter_floats) {}
    std::span<float> first() { return std::span(moments).first(parameters.size()); }
    std::span<float> second() { return std::span(moments).last(parameters.size()); }
    std::vector<float> parameters, statistics, moments;
  };

  DeviceTrainer(const TrainerOptions& options, const ModelRow& model, Executor& executor,
                Comm& comm)
      : options_(options),
        model_(model),
        graph_(model.build(options.classes)),
        executor_(executor),
        comm_(comm) {}

  static Error layer_differs(const LayersChecked& checked) {
    return Error{ErrorKind::invalid, "layer " + checked.layer +
                                         " in bf16 differs from the reference by " +
                                         std::to_string(checked.error) + " (at most " +
                                         std::to_string(kMaxLayerError) + ")"};
  }

  bool several() const { return comm_.place().world_size > 1; }
  CheckpointOwner owner() const { return {options_.model, graph_hash(graph_)}; }

  Status prepare() {
    DeviceUse use;
    // A label of one symbol more than there are steps cannot be spelt; longer ones neither.
    use.max_label = options_.width / model_.width_per_step + 1;
    if (several()) {
      const std::span<float> gradients =
          OCRTUNE_TRY(comm_.gradient_buffer(graph_.parameter_floats));
      use.gradients = gradients.data();
      use.part_floats = options_.bucket_bytes / sizeof(float);
    }
    max_label_ = many(use.max_label);
    auto network =
        Net::create(graph_, executor_, {options_.batch, 3, options_.height, options_.width}, use);
    if (!network) return network.error();
    network_ = std::move(*network);
    HostState state(graph_);
    fill_initial_parameters(graph_, options_.seed, state.parameters.data());
    fill_initial_statistics(graph_, state.statistics.data());
    return network_->set_state(state.parameters, state.statistics);
  }

  // Starts a part of the mean as soon as its gradients are final.
  typename Net::HandOver hand_over() {
    if (!several() || options_.bucket_bytes == 0) return {};
    return [this](const GradientPart& part) -> Status {
      OCRTUNE_TRY(comm_.start_mean(part.first, part.end - part.first));
      return comm_.advance();
    };
  }

  // A smaller batch, filled with empty images.
  const Batch& filled(const Batch& batch) {
    if (batch.count >= options_.batch || batch.count < 1) return batch;
    filled_ = batch;
    filled_.count = options_.batch;
    filled_.images.resize(batch.images.size() / many(batch.count) * many(options_.batch), 0.0F);
    return filled_;
  }

  // Labels that are far too long are cut to one that is too long as well.
  const Batch& spelt(const Batch& batch) {
    const auto fits = [&](const std::vector<int>& label) { return label.size() <= max_label_; };
    if (std::all_of(batch.labels.begin(), batch.labels.end(), fits)) return batch;
    cut_ = batch;
    for (std::vector<int>& label : cut_.labels) label.resize(std::min(label.size(), max_label_));
    return cut_;
  }

  TrainerOptions options_;
  const ModelRow& model_;
  Graph graph_;
  Executor& executor_;
  Comm& comm_;
  std::unique_ptr<Net> network_;
  std::size_t max_label_ = 1;
  Batch cut_, filled_;
};

}  // namespace ocrtune::device
