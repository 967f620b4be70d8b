// prepare() settles memory, then lets ranks meet, then makes the trainer; the loader is there
// before, as its workers are forked before the first OpenMP region. run() is the loop over steps.
#include "core/train/training_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/result.h"
#include "base/text.h"
#include "core/comm/comm.h"
#include "core/data/alphabet.h"
#include "core/data/image_file.h"
#include "core/data/resize.h"
#include "core/data/sample_source.h"
#include "core/data/samples.h"
#include "core/graph/batch.h"
#include "core/graph/checkpoint.h"
#include "core/infer/decode.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

struct EvaluationOptions {
  int batch = 16;
  int height = 32;
  int width = 320;
  std::int64_t max_lines = 2000;  // the first ones of the source
};

struct Evaluation {
  LabelErrors errors;
  std::int64_t unreadable = 0;  // images that are bad; not in `errors`
};

// Fills `batch` with lines from `next` on, skipping bad ones; fewer than wanted at the end.
void fill_batch(const SampleSource& source, const EvaluationOptions& options, std::int64_t& next,
                Batch& batch, std::int64_t& unreadable) {
  const std::int64_t end = std::min(source.size(), options.max_lines);
  const std::size_t floats =
      3 * static_cast<std::size_t>(options.height) * static_cast<std::size_t>(options.width);
  batch.count = 0;
  batch.height = options.height;
  batch.width = options.width;
  batch.labels.clear();
  batch.images.clear();
  for (; next < end && batch.count < options.batch; ++next) {
    const auto bytes = source.image_bytes(next);
    const auto image = bytes ? decode_image(*bytes) : Result<Image>(bytes.error());
    if (!image) {
      ++unreadable;
      continue;
    }
    batch.images.resize(batch.images.size() + floats);
    write_line(*image, options.height, options.width, std::span<float>(batch.images).last(floats));
    const std::span<const int> label = source.label(next);
    batch.labels.emplace_back(label.begin(), label.end());
    ++batch.count;
  }
}

// Reads the lines in order with the inference form. The source's alphabet must be the trainer's.
Result<Evaluation> evaluate(Trainer& trainer, const SampleSource& source,
                            const EvaluationOptions& options) {
  Evaluation evaluation;
  Batch batch;
  const int classes = static_cast<int>(source.alphabet().size()) + 1;
  for (std::int64_t next = 0;;) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while evaluating"};
    fill_batch(source, options, next, batch, evaluation.unreadable);
    if (batch.count == 0) return evaluation;
    const auto logits = OCRTUNE_TRY(trainer.logits(batch));
    const int steps = static_cast<int>(logits.size() / static_cast<std::size_t>(batch.count) /
                                       static_cast<std::size_t>(classes));
    const auto lines = greedy_decode(logits, steps, batch.count, classes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      evaluation.errors.add(lines[i].classes, batch.labels[i]);
    }
  }
}

std::string text_of(const std::vector<std::string>& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  return text;
}

class TrainingRun {
 public:
  TrainingRun(const TrainingRunOptions& options, std::unique_ptr<Loader> loader)
      : options_(options), loader_(std::move(loader)), comm_(make_single_comm()) {}

  Status prepare();
  Result<TrainingOutcome> run(const std::function<void(const TrainingProgress&)>& report);

 private:
  Status step(double& loss_sum, double& data_seconds);
  Status save();
  Error divergence() const;
  Status check_weights();
  bool leads() const { return options_.place.rank == 0; }
  Result<double> batch_error_rate();
  Status evaluate_held_out();

  TrainingRunOptions options_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Trainer> trainer_;
  Batch batch_;
  std::int64_t samples_ = 0;  // since the last report
  std::int64_t saved_steps_ = 0;
  bool diverged_ = false;
  TrainingOutcome outcome_;
};

// The largest batch that fits is looked for among the halves.
Status check_memory(const TrainingRunOptions& run) {
  const TrainerOptions& trainer = run.trainer;
  const std::uint64_t memory_bytes = run.memory_bytes;
  const auto plan = run.planned_bytes ? run.planned_bytes : Trainer::footprint_bytes;
  if (memory_bytes == 0) return Status();
  const auto planned = OCRTUNE_TRY(plan(trainer));
  if (planned <= memory_bytes) return Status();
  std::string way_out = "; not even --batch 1 fits";
  TrainerOptions smaller = trainer;
  while (smaller.batch > 1) {
    smaller.batch /= 2;
    const auto own = plan(smaller);
    if (!own || *own > memory_bytes) continue;
    way_out = "; --batch " + std::to_string(smaller.batch) + " takes " + format_bytes(*own);
    break;
  }
  return Error{ErrorKind::exhausted, "--batch " + std::to_string(trainer.batch) + " of model " +
                                         trainer.model + " would take " + format_bytes(planned) +
                                         " of memory, and " + format_bytes(memory_bytes) +
                                         " are available" + way_out};
}

Status TrainingRun::prepare() {
  TrainerOptions& trainer = options_.trainer;
  trainer.batch = options_.loader.batch;
  trainer.height = options_.loader.height;
  trainer.width = options_.loader.width;
  trainer.heights = options_.loader.heights;
  // Everything of a batch comes from the loader, which knows the data.
  trainer.schedule_steps = options_.steps;
  trainer.classes = static_cast<int>(loader_->alphabet().size()) + 1;
  plan_width_buckets(trainer, loader_->width_buckets());
  OCRTUNE_TRY(check_memory(options_));
  if (options_.planned) {
    const auto memory = OCRTUNE_TRY(plan_memory(trainer, loader_->width_buckets()));
    options_.planned(memory);
  }
  if (options_.place.world_size > 1) comm_ = OCRTUNE_TRY(options_.make_comm());
  trainer_ = OCRTUNE_TRY(options_.make_trainer ? options_.make_trainer(trainer, *comm_)
                                               : Trainer::create(trainer, *comm_));
  if (options_.resume.empty()) return Status();
  const auto alphabet = OCRTUNE_TRY(Alphabet::load(alphabet_path(options_.resume)));
  if (alphabet.characters() != loader_->alphabet()) {
    return Error{ErrorKind::invalid, options_.resume + " was trained with another alphabet (" +
                                         std::to_string(alphabet.characters().size()) +
                                         " characters) than the data's (" +
                                         std::to_string(loader_->alphabet().size()) + ")"};
  }
  return trainer_->load(options_.resume);
}

// A loss that is no number on another rank is in this one's weights before it is in its loss.
Status TrainingRun::check_weights() {
  // A lone rank has seen its own loss, and no batch means that no weight has changed.
  if (options_.place.world_size == 1 || batch_.count == 0) return Status();
  const auto logits = OCRTUNE_TRY(trainer_->logits(batch_));
  if (std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
    return Status();
  }
  diverged_ = true;
  return divergence();
}

Status TrainingRun::save() {
  if (options_.checkpoint.empty() || !leads()) return Status();
  OCRTUNE_TRY(check_weights());
  std::string characters;
  for (const std::string& character : loader_->alphabet()) characters += character + "\n";
  OCRTUNE_TRY(write_file(alphabet_path(options_.checkpoint), characters));
  Status saved = trainer_->save(options_.checkpoint);
  if (saved) saved_steps_ = trainer_->steps();
  return saved;
}

Error TrainingRun::divergence() const {
  const std::string kept = saved_steps_ == 0 ? ""
                                             : "; " + options_.checkpoint + " holds step " +
                                                   std::to_string(saved_steps_);
  return Error{ErrorKind::failed,
               "the training diverged: the loss of step " + std::to_string(trainer_->steps()) +
                   " is no number" + kept +
                   "; try a smaller --learning-rate, a --warm-up or a --clip-norm"};
}

Status TrainingRun::step(double& loss_sum, double& data_seconds) {
  const double started = steady_clock().now_seconds();
  OCRTUNE_TRY(loader_->next_into(batch_));
  data_seconds += steady_clock().now_seconds() - started;
  const auto report = OCRTUNE_TRY(trainer_->step(batch_));
  if (!std::isfinite(report.loss)) {
    diverged_ = true;
    return divergence();
  }
  loss_sum += report.loss;
  outcome_.impossible_labels += report.impossible_labels;
  // All ranks have batches of one shape.
  samples_ += static_cast<std::int64_t>(batch_.count) * options_.place.world_size;
  return Status();
}

Result<double> TrainingRun::batch_error_rate() {
  const auto logits = OCRTUNE_TRY(trainer_->logits(batch_));
  const int classes = options_.trainer.classes;
  const auto steps = static_cast<int>(logits.size()) / batch_.count / classes;
  const auto lines = greedy_decode(logits, steps, batch_.count, classes);
  LabelErrors errors;
  for (std::size_t i = 0; i < lines.size(); ++i) errors.add(lines[i].classes, batch_.labels[i]);
  return errors.rate();
}

Status TrainingRun::evaluate_held_out() {
  if (options_.evaluation_labels.empty()) return Status();
  const auto source =
      OCRTUNE_TRY(open_samples(options_.evaluation_labels, text_of(loader_->alphabet())));
  const LoaderOptions& loader = options_.loader;
  const auto evaluation = OCRTUNE_TRY(evaluate(
      *trainer_, *source,
      EvaluationOptions{loader.batch, loader.height, loader.width, options_.max_evaluated}));
  outcome_.evaluation = evaluation.errors;
  outcome_.evaluated = true;
  return Status();
}

Result<TrainingOutcome> TrainingRun::run(
    const std::function<void(const TrainingProgress&)>& report) {
  double loss_sum = 0, data_seconds = 0;
  double since = steady_clock().now_seconds();
  std::int64_t since_step = trainer_->steps();
  while (trainer_->steps() < options_.steps && !interrupted()) {
    // A diverged run keeps its last checkpoint; any other failure saves what was learned.
    if (Status done = step(loss_sum, data_seconds); !done) {
      if (done.error().kind == ErrorKind::interrupted) break;
      if (!diverged_) (void)save();  // what was learned until here
      return done.error();
    }
    const std::int64_t at = trainer_->steps();
    const bool due = at % std::max<std::int64_t>(options_.report_every, 1) == 0;
    if (leads() && (due || at == options_.steps)) {
      const double seconds = std::max(steady_clock().now_seconds() - since, 1e-9);
      const auto error_rate = OCRTUNE_TRY(batch_error_rate());
      const auto steps = static_cast<double>(at - since_step);
      report({at, loss_sum / steps, error_rate, static_cast<double>(samples_) / seconds,
              data_seconds / seconds});
      loss_sum = data_seconds = 0;
      samples_ = 0;
      since = steady_clock().now_seconds();
      since_step = at;
    }
    if (options_.save_every > 0 && at % options_.save_every == 0 && at < options_.steps) {
      OCRTUNE_TRY(save());
    }
  }
  outcome_.steps = trainer_->steps();
  outcome_.interrupted = interrupted();
  outcome_.counts = loader_->counts();
  OCRTUNE_TRY(save());
  // What a rank handed over last may still be on its way to another: nobody leaves before all are
  // there. Only an interrupted rank goes alone.
  if (!outcome_.interrupted && options_.place.world_size > 1) OCRTUNE_TRY(comm_->barrier());
  if (outcome_.interrupted || !leads()) return outcome_;
  OCRTUNE_TRY(evaluate_held_out());
  return outcome_;
}

}  // namespace

void plan_width_buckets(TrainerOptions& trainer, const std::vector<WidthBucket>& buckets) {
  if (buckets.empty()) return;
  trainer.width = buckets.back().width;
  trainer.widths.clear();
  for (const WidthBucket& bucket : buckets) trainer.widths.push_back(bucket.width);
}

Result<TrainingMemory> plan_memory(const TrainerOptions& trainer,
                                   const std::vector<WidthBucket>& buckets) {
  TrainingMemory memory;
  memory.planned_bytes = OCRTUNE_TRY(Trainer::footprint_bytes(trainer));
  memory.buckets = buckets;
  for (const WidthBucket& bucket : buckets) {
    TrainerOptions alone = trainer;
    alone.width = bucket.width;
    alone.widths.clear();
    const auto own = OCRTUNE_TRY(Trainer::footprint_bytes(alone));
    memory.bucket_bytes.push_back(own);
  }
  return memory;
}

Result<TrainingOutcome> run_training(const TrainingRunOptions& options,
                                     const std::function<void(const TrainingProgress&)>& report) {
  TrainingRunOptions adjusted = options;
  if (!options.resume.empty()) {
    const auto head = OCRTUNE_TRY(read_checkpoint_head(options.resume));
    adjusted.loader.first_batch = head.steps;
  }
  OCRTUNE_CHECK(options.place.world_size == 1 || options.make_comm);
  adjusted.loader.rank = options.place.rank;
  adjusted.loader.world_size = options.place.world_size;
  auto loader = OCRTUNE_TRY(Loader::create(adjusted.loader));
  TrainingRun run(adjusted, std::move(loader));
  OCRTUNE_TRY(run.prepare());
  return run.run(report);
}

}  // namespace ocrtune
