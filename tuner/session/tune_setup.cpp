#include "tuner/session/tune_setup.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "core/gpu/device_footprint.h"
#include "core/graph/batch.h"
#include "core/infer/recognizer.h"
#include "core/train/trainer.h"
#include "trial/workloads/command/command_prepare.h"
#include "tuner/space/default_space.h"
#include "tuner/space/reading_memory.h"

namespace ocrtune {
namespace {

// Libraries, code and stacks of one rank: measured, CRNN on oneDNN with two threads.
constexpr double kProcessBytes = 30e6;

// Seconds of a trial before and after its measuring, until one has run: workers start at once; a
// user command loads an interpreter, a framework and its lists.
double overhead_seconds(const RunOptions& options) { return options.prints() ? 6 : 2; }

// Planning takes milliseconds and a verdict asks for every point of the space, several times.
class PlannedBytes {
 public:
  explicit PlannedBytes(std::function<std::uint64_t(const Knobs&)> plan) : plan_(std::move(plan)) {}

  std::uint64_t of(const Knobs& knobs) {
    const auto [planned, fresh] = plans_.try_emplace(
        {knobs.backend, knobs.precision, knobs.batch, knobs.threads}, std::uint64_t{0});
    if (fresh) planned->second = plan_(knobs);
    return planned->second;
  }

 private:
  std::function<std::uint64_t(const Knobs&)> plan_;
  std::map<std::tuple<std::string, std::string, int, int>, std::uint64_t> plans_;
};

FootprintPrior training_footprint(const RunOptions& options) {
  TrainerOptions trainer;
  trainer.model = options.model;
  trainer.classes = options.classes;
  trainer.height = options.height;
  trainer.width = options.widest_bucket > 0 ? options.widest_bucket : options.width;
  trainer.heights = options.heights;
  auto plans = std::make_shared<PlannedBytes>([trainer](const Knobs& knobs) {
    TrainerOptions rank = trainer;
    rank.backend = knobs.backend;
    rank.precision = knobs.precision;
    rank.batch = knobs.batch;
    rank.threads = knobs.threads;
    return Trainer::footprint_bytes(rank).value_or(0);
  });
  return [trainer, plans, depth = options.queue_depth](const Knobs& knobs) {
    const std::uint64_t planned = plans->of(knobs);
    if (planned == 0) return 0.0;
    std::size_t images = 0;  // of the largest shape
    for (const BatchShape& shape :
         batch_shapes(knobs.batch, trainer.height, trainer.width, trainer.heights)) {
      images = std::max(images, image_floats(shape) * sizeof(float));
    }
    const double queues = static_cast<double>(images) * (1 + 1.0 * depth * knobs.workers);
    return knobs.nproc * (kProcessBytes + static_cast<double>(planned) + queues);
  };
}

// Of one process on its GPU: the limit is one GPU's memory.
FootprintPrior gpu_footprint(const RunOptions& options) {
  TrainerOptions trainer;
  trainer.model = options.model;
  trainer.classes = options.classes;
  trainer.height = options.height;
  trainer.width = options.width;
  auto plans = std::make_shared<PlannedBytes>([trainer](const Knobs& knobs) {
    TrainerOptions rank = trainer;
    rank.precision = knobs.precision;
    rank.batch = knobs.batch;
    return device_training_bytes(rank).value_or(0);
  });
  return [plans](const Knobs& knobs) { return static_cast<double>(plans->of(knobs)); };
}

RecognizerOptions reader_of(const RunOptions& options) {
  RecognizerOptions recognizer;
  recognizer.model = options.model;
  recognizer.height = options.height;
  recognizer.width = options.width;
  return recognizer;
}

FootprintPrior inference_footprint(const RunOptions& options) {
  const RecognizerOptions recognizer = reader_of(options);
  auto plans =
      std::make_shared<PlannedBytes>([recognizer, classes = options.classes](const Knobs& knobs) {
        RecognizerOptions process = recognizer;
        process.backend = knobs.backend;
        process.precision = knobs.precision;
        process.batch = knobs.batch;
        process.threads = knobs.threads;
        return Recognizer::footprint_bytes(process, classes).value_or(0);
      });
  return [plans](const Knobs& knobs) {
    const std::uint64_t planned = plans->of(knobs);
    if (planned == 0) return 0.0;
    // The process that hands out the lines is one more.
    return kProcessBytes + knobs.nproc * (kProcessBytes + static_cast<double>(planned));
  };
}

// Of the processes that read on the fullest GPU.
FootprintPrior gpu_reading_footprint(const RunOptions& options) {
  auto plans = std::make_shared<PlannedBytes>(
      [reader = reader_of(options), classes = options.classes](const Knobs& knobs) {
        RecognizerOptions process = reader;
        process.precision = knobs.precision;
        process.batch = knobs.batch;
        return all_shapes_reading_bytes(process, classes).value_or(0);
      });
  return [plans, gpus = static_cast<int>(options.gpus.size())](const Knobs& knobs) {
    return processes_together(knobs.nproc, gpus) * static_cast<double>(plans->of(knobs));
  };
}

// Bytes of the built-in core by its own plan; none for a user command or server.
FootprintPrior core_footprint(const RunOptions& options) {
  if (!options.command.empty() || !options.url.empty()) return {};
  if (options.on_gpus() && options.infers()) return gpu_reading_footprint(options);
  if (options.on_gpus()) return gpu_footprint(options);
  return options.infers() ? inference_footprint(options) : training_footprint(options);
}

// A batch that waits for company keeps nobody's promise: small ones are tried as well.
void set_inference_space(SpaceRequest& request, const RunOptions& options) {
  const bool promised = !options.promise.empty();
  request.infer_gpus = static_cast<int>(options.gpus.size());
  if (options.on_gpus()) {
    request.min_batch = promised ? 1 : 8;
    request.max_batch = promised ? 32 : 256;
  } else {
    request.min_batch = promised ? 1 : 4;
    request.max_batch = promised ? 16 : 64;
    request.precision = true;
  }
  request.own_axes.push_back({"workers", {}, {"0"}});
  request.own_axes.push_back({"queue", {}, {"shared", "static"}});
}

int max_batch(const RunOptions& options) {
  const int most = options.on_gpus() ? 1024 : 64;
  if (options.lines <= 0) return most;
  return static_cast<int>(std::clamp<std::int64_t>(options.lines, 1, most));
}

std::vector<std::string> constraints_of(const RunOptions& options, const Machine& machine) {
  std::vector<std::string> constraints = options.constraints;
  if (options.lines > 0) constraints.push_back(fmt::format("nproc*batch<={}", options.lines));
  if (options.policy == "cautious") {
    const RulesOfThumb& rules = machine.rules_of_thumb;
    const int cap = std::max(1, std::min({rules.memory_half, rules.cores_60_percent, rules.seven}));
    constraints.push_back(fmt::format("nproc<={}", cap));
  }
  return constraints;
}

// Who lists the values of a knob gets no others, not even a rule's.
bool within_lists(const RunOptions& options, const Knobs& knobs) {
  return std::all_of(options.axes.begin(), options.axes.end(), [&](const auto& axis) {
    return std::find(axis.second.begin(), axis.second.end(), knob_text(knobs, axis.first)) !=
           axis.second.end();
  });
}

}  // namespace

Result<TuneSetup> tune_setup(const RunOptions& options, const Machine& machine) {
  SpaceRequest request;
  request.base = options.baseline;
  for (const auto& [name, values] : options.axes) {
    request.lists.push_back(Axis{name, KnobScale::count, values});
  }
  // The rules of thumb speak of training on CPUs.
  std::vector<RuleSetting> rules;
  if (!options.infers() && !options.on_gpus() && options.command_gpus == 0)
    rules = rule_settings(machine, options.baseline);
  std::erase_if(rules, [&](const RuleSetting& rule) { return !within_lists(options, rule.knobs); });
  request.always.push_back(options.baseline);
  for (const RuleSetting& rule : rules) request.always.push_back(rule.knobs);
  request.constraints = constraints_of(options, machine);
  request.max_batch = max_batch(options);
  request.gpu = !machine.gpus.empty() && !options.infers();
  if (!options.infers()) request.train_gpus = static_cast<int>(options.gpus.size());
  request.command_gpus = options.command_gpus;
  request.tensor_cores = options.tensor_cores;
  if (options.infers() && options.command.empty() && options.url.empty()) {
    set_inference_space(request, options);
  }
  auto space = OCRTUNE_TRY(make_space(machine, request));

  TuneSetup setup;
  setup.space = std::move(space);
  setup.search.safety.limit_bytes = options.limit_bytes();
  setup.search.safety.memories = std::max(1, static_cast<int>(options.gpus.size()));
  setup.search.safety.margin = options.memory_margin;
  setup.search.safety.max_bytes = options.objective.max_peak_bytes;
  setup.search.objective = options.objective;
  setup.search.safety.footprint = core_footprint(options);
  setup.search.safety.guards = !options.on_gpus() && options.url.empty();
  setup.search.cpus = usable_cpu_count(machine);
  setup.search.cores = machine.cpu.effective_cores.value_or(usable_cpu_count(machine));
  setup.search.first_trial_seconds = options.trial_seconds + overhead_seconds(options);
  setup.search.first = request.always;
  setup.search.seed = options.seed;
  setup.recommend.cpus = usable_cpu_count(machine);
  setup.recommend.baseline = options.baseline;
  setup.recommend.rules = rules;
  setup.recommend.limit_bytes = options.limit_bytes();
  setup.recommend.margin = options.memory_margin;
  setup.recommend.objective = options.objective;
  return setup;
}

TrialLimits trial_limits(const RunOptions& options) {
  TrialLimits limits;
  limits.measure_seconds = options.trial_seconds;
  limits.max_seconds = std::max(30.0, 10 * options.trial_seconds);
  // A user command that is silent is given up by the silence rule; one that prints, but not the
  // metric, by this.
  if (options.prints()) limits.max_seconds += 60;
  if (options.on_gpus()) limits.max_seconds += 150;  // contexts, libraries, NCCL's first meeting
  limits.memory_limit_bytes = options.memory_limit_bytes;
  return limits;
}

CommandWorkload command_workload(const RunOptions& options) {
  CommandWorkload workload;
  workload.serves = options.serves();
  workload.command = options.command;
  workload.directory = options.directory;
  workload.environment = options.environment;
  workload.inherited = options.inherited;
  if (!options.setup.empty()) workload.setup = split(options.setup, '\n');
  if (!options.cleanup.empty()) workload.cleanup = split(options.cleanup, '\n');
  workload.log_reader = options.log_reader;
  workload.metric = options.metric;
  if (!options.metric_of.empty()) workload.per_rank = options.metric_of == "rank";
  workload.log_file = options.log_file;
  workload.preset = options.preset;
  for (const auto& [name, values] : options.axes) {
    // One value that is also the baseline's only says that the knob stays as the command has it.
    const bool pinned = values.size() == 1 && values[0] == knob_text(options.baseline, name);
    if (!pinned || options.given.count(name) != 0) workload.knobs.push_back(name);
    if (values.size() == 1) workload.fixed.push_back(name);
  }
  // Once a command is settled, what it does not turn is pinned: a knob without values has ours.
  for (const KnobRow& row : knob_table()) {
    if (options.axes.count(row.name) == 0) workload.knobs.emplace_back(row.name);
  }
  return workload;
}

Result<InferenceWorkload> inference_workload(const RunOptions& options, const Machine& machine) {
  InferenceWorkload workload;
  workload.model = options.model;
  workload.checkpoint = options.checkpoint;
  workload.alphabet = options.alphabet;
  workload.height = options.height;
  workload.width = options.width;
  workload.place = options.place;
  workload.url = options.url;
  workload.inputs = options.inputs;
  workload.promise = options.promise;
  workload.trace = options.trace;
  workload.gpus = options.gpus;
  if (!options.command.empty()) {
    workload.command = OCRTUNE_TRY(prepare_command(command_workload(options), machine));
  }
  return workload;
}

}  // namespace ocrtune
