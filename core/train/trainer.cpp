// A step is forward and backward, the mean over ranks, then AdamW; each part is timed. Parameters,
// moments and statistics are one allocation, gradients lie in the Comm's buffer.
#include "core/train/trainer.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "core/backends/backend_table.h"
#include "core/backends/gradient_check.h"
#include "core/backends/onednn/rows.h"
#include "core/graph/checkpoint.h"
#include "core/graph/network.h"
#include "core/graph/optimizer.h"
#include "core/graph/tensor.h"
#include "core/infer/initial_model.h"
#include "core/models/model.h"
#include "core/onnx/onnx_recognizer.h"

namespace ocrtune {
namespace {

// The OpenMP team of the calling thread while it lives.
class TeamScope {
 public:
  explicit TeamScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamScope() { omp_set_num_threads(before_); }
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  int before_;
};

// Code pages of oneDNN, its kernels and packing buffers: the growth of the resident set beyond the
// plan, 6 to 9 MiB over all models and batches.
constexpr std::size_t kLibraryBytes = std::size_t{7} << 20;

constexpr std::size_t kLineFloats = 16;  // parts of the mean begin at whole cache lines

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Error unknown_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelRow& row : model_table()) names.emplace_back(row.name);
  const std::string near = nearest_name(name, names);
  return Error{ErrorKind::usage, near.empty()
                                     ? fmt::format("model {}: there is {}", name, join(names, ", "))
                                     : fmt::format("model {}: did you mean {}?", name, near)};
}

Status check_options(const TrainerOptions& options) {
  if (find_model(options.model) == nullptr && !names_onnx_file(options.model)) {
    return unknown_model(options.model);
  }
  if (options.classes < 2 || options.batch < 1 || options.height < 1 || options.width < 1 ||
      options.threads < 1 || options.accumulate < 1 ||
      std::any_of(options.heights.begin(), options.heights.end(), [](int h) { return h < 1; }) ||
      std::any_of(options.widths.begin(), options.widths.end(), [](int w) { return w < 1; })) {
    return Error{ErrorKind::usage,
                 fmt::format("model {}: classes {} (at least 2), batch {}, images {} x {} and "
                             "threads {} (at least 1), accumulate {} (at least 1) make no sense",
                             options.model, options.classes, options.batch, options.height,
                             options.width, options.threads, options.accumulate)};
  }
  for (const auto& [name, value] : {std::pair{"weight decay", options.weight_decay},
                                    std::pair{"most gradient norm", options.clip_norm}}) {
    if (std::isfinite(value) && value >= 0) continue;
    return Error{ErrorKind::usage, fmt::format("{} {} is not a number from 0 on", name, value)};
  }
  return check_schedule(schedule_of(options));
}

Result<Graph> graph_of(const TrainerOptions& options) {
  auto graph = OCRTUNE_TRY(recognition_graph(options.model, options.height, options.classes));
  if (!names_onnx_file(options.model)) return graph;
  const auto shapes =
      OCRTUNE_TRY(infer_shapes(graph, {options.batch, 3, options.height, options.width}));
  const Shape& logits = shapes[static_cast<std::size_t>(graph.output)];
  if (logits.c == options.classes && logits.h == 1) return graph;
  return Error{ErrorKind::usage,
               fmt::format("model {}: {} classes in {} rows from lines {} pixels high, where {} in "
                           "one are wanted",
                           options.model, logits.c, logits.h, options.height, options.classes)};
}

std::vector<BatchShape> shapes_of(const TrainerOptions& options) {
  auto shapes = batch_shapes(options.batch, options.height, options.width, options.heights);
  for (const int width : options.widths) {
    if (width != options.width) shapes.push_back({options.batch, options.height, width});
  }
  return shapes;
}

class TrainerOnGraph final : public Trainer {
 public:
  TrainerOnGraph(const TrainerOptions& options, Graph graph, std::unique_ptr<Backend> backend,
                 Comm& comm)
      : options_(options),
        graph_(std::move(graph)),
        backend_(std::move(backend)),
        network_(graph_, *backend_),
        comm_(comm),
        schedule_(schedule_of(options)) {}

  Status allocate() {
    const TeamScope team(options_.threads);
    const std::size_t floats = graph_.parameter_floats;
    state_ = OCRTUNE_TRY(Memory::allocate((3 * floats + graph_.statistic_floats) * sizeof(float)));
    parameters_ = {state_.floats(), floats};
    moments_.first = {state_.floats() + floats, floats};
    moments_.second = {state_.floats() + 2 * floats, floats};
    statistics_ = {state_.floats() + 3 * floats, graph_.statistic_floats};
    OCRTUNE_TRY(fill_initial_weights(options_.model, options_.height, graph_, options_.seed,
                                     parameters_.data(), statistics_.data()));
    for (const BatchShape& shape : shapes_of(options_)) {
      const Status prepared = network_.prepare({shape.count, 3, shape.height, shape.width}, true);
      if (!prepared) return prepared;
    }
    // Plans come first: the exchange begins only where this rank has memory for its activations.
    gradients_ = OCRTUNE_TRY(comm_.gradient_buffer(floats));
    if (options_.accumulate > 1) sums_ = OCRTUNE_TRY(Memory::allocate(floats * sizeof(float)));
    return Status();
  }

  Result<StepReport> step(const Batch& batch) override {
    const TeamScope team(options_.threads);
    OCRTUNE_TRY(check_batch(batch));
    StepReport report;
    const double start = now_seconds();
    double moving_seconds = 0;                           // of it, between the layers of backward
    const bool last = held_ + 1 == options_.accumulate;  // before the weights change
    const Result<CtcLoss> loss =
        network_.train(batch, parameters_, statistics_, gradients_,
                       last ? gradient_watch(moving_seconds) : Network::GradientWatch());
    if (!loss) return loss.error();
    report.loss = loss->mean;
    report.impossible_labels = loss->impossible;
    if (options_.watch_gradients) part_squares_ += square_of(gradients_);
    if (!last) {
      hold_gradients();
      report.compute_seconds = now_seconds() - start;
      return report;
    }
    held_ = 0;
    if (!overlaps()) add_held(0, gradients_.size());
    const double reduce_start = now_seconds();
    OCRTUNE_TRY(overlaps() ? comm_.finish_means(&report.wait_seconds)
                           : comm_.all_reduce_mean(0, gradients_.size(), &report.wait_seconds));
    const double reduce_end = now_seconds();
    if (options_.watch_gradients) {
      report.part_square = std::exchange(part_squares_, 0) / options_.accumulate;
      report.whole_square = square_of(gradients_);
    }
    const AdamW settings{schedule_.rate_at(moments_.steps), options_.weight_decay,
                         options_.clip_norm};
    update_parameters(settings, graph_, gradients_, moments_, parameters_);
    report.all_reduce_seconds =
        std::max(0.0, reduce_end - reduce_start - report.wait_seconds) + moving_seconds;
    report.compute_seconds = now_seconds() - reduce_end + reduce_start - start - moving_seconds;
    return report;
  }

  Result<double> check_against_reference() override {
    const TeamScope team(options_.threads);
    GradientCheck check{.graph = &graph_,
                        .height = options_.height,
                        .width = options_.width,
                        .classes = options_.classes,
                        .seed = options_.seed,
                        .exact = options_.precision == "fp32",
                        .parameters = parameters_,
                        .statistics = statistics_};
    if (const ModelRow* row = find_model(options_.model)) {
      check.check_width = row->check_width;
      check.width_per_step = row->width_per_step;
    }
    return gradient_error(check, [&](const Batch& batch, std::span<float> gradients) {
      // A copy: the check must not move the running statistics.
      std::vector<float> statistics(statistics_.begin(), statistics_.end());
      return network_.train(batch, parameters_, statistics, gradients);
    });
  }

  Result<std::vector<float>> logits(const Batch& batch) override {
    const TeamScope team(options_.threads);
    const std::span<const float> rows =
        OCRTUNE_TRY(network_.infer(batch, parameters_, statistics_));
    return steps_first(rows, static_cast<std::size_t>(batch.count),
                       static_cast<std::size_t>(options_.classes));
  }

  std::size_t parameter_count() const override { return graph_.parameter_count(); }
  std::int64_t steps() const override { return moments_.steps; }

  Status save(const std::string& path) const override {
    return write_checkpoint(path, owner(), moments_.steps,
                            {parameters_, statistics_, moments_.first, moments_.second});
  }

  Status load(const std::string& path) override {
    const Result<std::int64_t> steps =
        read_checkpoint(path, owner(), {parameters_, statistics_, moments_.first, moments_.second});
    if (!steps) return steps.error();
    moments_.steps = *steps;
    return Status();
  }

 private:
  // What is averaged while backward goes on is never this rank's gradient alone.
  bool overlaps() const {
    return options_.bucket_bytes > 0 && comm_.place().world_size > 1 && !options_.watch_gradients;
  }

  double square_of(std::span<const float> gradients) const {
    const double norm = gradient_norm(graph_, gradients);
    return norm * norm;
  }

  void hold_gradients() {
    float* const sums = sums_.floats();
#pragma omp parallel for simd
    for (std::size_t i = 0; i < gradients_.size(); ++i) sums[i] += gradients_[i];
    ++held_;
  }

  // The mean of these gradients and those held of the steps before; nothing is held of them then.
  void add_held(std::size_t first, std::size_t count) {
    if (options_.accumulate == 1) return;
    float* const sums = sums_.floats();
    const float share = 1.0F / static_cast<float>(options_.accumulate);
#pragma omp parallel for simd
    for (std::size_t i = first; i < first + count; ++i) {
      gradients_[i] = (sums[i] + gradients_[i]) * share;
      sums[i] = 0;
    }
  }

  // Starts a part as soon as enough gradients are final, and moves what all ranks have started.
  Network::GradientWatch gradient_watch(double& moving_seconds) {
    if (!overlaps()) return {};
    const std::size_t least = std::max<std::size_t>(1, options_.bucket_bytes / sizeof(float));
    return [this, least, &moving_seconds, end = gradients_.size()](std::size_t from) mutable {
      const double start = now_seconds();
      from = (from + kLineFloats - 1) / kLineFloats * kLineFloats;  // what is between is padding
      Status status;
      if (end > from && (end - from >= least || from == 0)) {
        add_held(from, end - from);
        status = comm_.start_mean(from, end - from);
        end = from;
      }
      if (status) status = comm_.advance();
      moving_seconds += now_seconds() - start;
      return status;
    };
  }

  CheckpointOwner owner() const { return checkpoint_owner(options_.model, graph_); }

  Status check_batch(const Batch& batch) const {
    const std::vector<BatchShape> shapes = shapes_of(options_);
    const bool fits = std::any_of(shapes.begin(), shapes.end(), [&](const BatchShape& most) {
      return batch.count <= most.count && batch.height <= most.height && batch.width <= most.width;
    });
    if (batch.count < 1 || !fits || batch.channels != 3) {
      return Error{ErrorKind::usage,
                   fmt::format("a batch of {} images of {} x {} x {} is beyond the {} of 3 x {} x "
                               "{} that this trainer was made for",
                               batch.count, batch.channels, batch.height, batch.width,
                               options_.batch, options_.height, options_.width)};
    }
    if (batch.labels.size() != static_cast<std::size_t>(batch.count)) {
      return Error{ErrorKind::usage, fmt::format("a batch of {} images with {} labels", batch.count,
                                                 batch.labels.size())};
    }
    for (const std::vector<int>& label : batch.labels) {
      for (const int symbol : label) {
        if (symbol > 0 && symbol < options_.classes) continue;
        return Error{ErrorKind::usage,
                     fmt::format("a label holds class {}; the classes are 1 to {}", symbol,
                                 options_.classes - 1)};
      }
    }
    return Status();
  }

  TrainerOptions options_;
  Graph graph_;
  std::unique_ptr<Backend> backend_;
  Network network_;
  Comm& comm_;
  LearningSchedule schedule_;
  Memory state_;             // parameters, both moments, statistics
  Memory sums_;              // of the gradients of steps that did not change the weights
  int held_ = 0;             // of those
  double part_squares_ = 0;  // of these and the last one, summed
  std::span<float> parameters_, statistics_, gradients_;
  AdamWState moments_;
};

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const TrainerOptions& options, Comm& comm) {
  OCRTUNE_TRY(check_options(options));
  std::unique_ptr<Backend> backend =
      OCRTUNE_TRY(make_backend({options.backend, options.precision}));
  try {
    auto trainer = std::make_unique<TrainerOnGraph>(options, OCRTUNE_TRY(graph_of(options)),
                                                    std::move(backend), comm);
    OCRTUNE_TRY(trainer->allocate());
    return std::unique_ptr<Trainer>(std::move(trainer));
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::exhausted, fmt::format("model {}: no memory", options.model)};
  }
}

Result<std::uint64_t> Trainer::footprint_bytes(const TrainerOptions& options) {
  OCRTUNE_TRY(check_options(options));
  const Result<std::unique_ptr<Backend>> backend =
      make_backend({options.backend, options.precision});
  if (!backend) return backend.error();
  const TeamScope team(options.threads);
  const Graph graph = OCRTUNE_TRY(graph_of(options));
  std::size_t arena = 0;
  for (const BatchShape& shape : shapes_of(options)) {
    const Result<std::size_t> own =
        network_arena_bytes(graph, **backend, {shape.count, 3, shape.height, shape.width}, true);
    if (!own) return own.error();
    arena = std::max(arena, *own);
  }
  // Parameters, gradients, two moments, and the sums of held gradients.
  const std::size_t copies = options.accumulate > 1 ? 5 : 4;
  const std::size_t state =
      (copies * graph.parameter_floats + graph.statistic_floats) * sizeof(float);
  return state + arena + kLibraryBytes;
}

}  // namespace ocrtune
