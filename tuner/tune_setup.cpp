#include "tuner/tune_setup.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "bench/command_prepare.h"
#include "core/trainer.h"
#include "tuner/default_space.h"

namespace ocrtune {
namespace {

// Libraries, code and stacks of one rank: measured, CRNN on oneDNN with two threads.
constexpr double kProcessBytes = 30e6;

// Bytes of the built-in core by its own plan; 0 where there is none (a foreign command).
FootprintPrior core_footprint(const RunOptions& options) {
  if (!options.command.empty()) return {};
  TrainerOptions trainer;
  trainer.model = options.model;
  trainer.classes = options.classes;
  trainer.height = options.height;
  trainer.width = options.width;
  // Planning takes milliseconds and a verdict asks for every point of the space, several times.
  using Plan = std::tuple<std::string, std::string, int, int>;
  auto plans = std::make_shared<std::map<Plan, std::uint64_t>>();
  return [trainer, plans](const Knobs& knobs) {
    TrainerOptions rank = trainer;
    rank.backend = knobs.backend;
    rank.precision = knobs.precision;
    rank.batch = knobs.batch;
    rank.threads = knobs.threads;
    const auto [planned, fresh] =
        plans->try_emplace({rank.backend, rank.precision, rank.batch, rank.threads}, 0);
    if (fresh) planned->second = Trainer::footprint_bytes(rank).value_or(0);
    if (planned->second == 0) return 0.0;
    const double images = 3.0 * rank.height * rank.width * rank.batch * sizeof(float);
    const double queues = images * (1 + 2.0 * knobs.workers);
    return knobs.nproc * (kProcessBytes + static_cast<double>(planned->second) + queues);
  };
}

int most_batch(const RunOptions& options) {
  constexpr int kMostBatch = 64;
  if (options.lines <= 0) return kMostBatch;
  return static_cast<int>(std::clamp<std::int64_t>(options.lines, 1, kMostBatch));
}

std::vector<std::string> constraints_of(const RunOptions& options, const Machine& machine) {
  std::vector<std::string> constraints = options.constraints;
  if (options.lines > 0) constraints.push_back(fmt::format("nproc*batch<={}", options.lines));
  if (options.policy == "cautious") {
    const FolkRules& rules = machine.folk_rules;
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
  std::vector<RuleSetting> rules = rule_settings(machine, options.baseline);
  std::erase_if(rules, [&](const RuleSetting& rule) { return !within_lists(options, rule.knobs); });
  request.always.push_back(options.baseline);
  for (const RuleSetting& rule : rules) request.always.push_back(rule.knobs);
  request.constraints = constraints_of(options, machine);
  request.most_batch = most_batch(options);
  request.gpu = !machine.gpus.empty();
  auto space = make_space(machine, request);
  if (!space) return space.error();

  TuneSetup setup;
  setup.space = std::move(*space);
  setup.search.safety.limit_bytes = options.memory_limit_bytes;
  setup.search.safety.margin = options.memory_margin;
  setup.search.safety.footprint = core_footprint(options);
  setup.search.cores = machine.cpu.effective_cores.value_or(usable_cpu_count(machine));
  setup.search.first_trial_seconds = options.trial_seconds + 2;
  setup.search.first = request.always;
  setup.search.seed = options.seed;
  setup.recommend.cpus = usable_cpu_count(machine);
  setup.recommend.baseline = options.baseline;
  setup.recommend.rules = rules;
  setup.recommend.limit_bytes = options.memory_limit_bytes;
  setup.recommend.margin = options.memory_margin;
  return setup;
}

CommandWorkload command_workload(const RunOptions& options) {
  CommandWorkload workload;
  workload.command = options.command;
  if (!options.setup.empty()) workload.setup = {options.setup};
  if (!options.cleanup.empty()) workload.cleanup = {options.cleanup};
  workload.log_reader = options.log_reader;
  workload.preset = options.preset;
  for (const auto& [name, values] : options.axes) {
    // One value that is also the baseline's only says that the knob stays as the command has it.
    const bool pinned = values.size() == 1 && values[0] == knob_text(options.baseline, name);
    if (!pinned || options.given.count(name) != 0) workload.knobs.push_back(name);
  }
  return workload;
}

std::string launch_command(const RunOptions& options, const Machine& machine, const Knobs& knobs) {
  if (!options.command.empty()) {
    const auto prepared = prepare_command(command_workload(options), machine);
    // A config that has gone since: the command as it was typed.
    return prepared ? launch_line(*prepared, machine, knobs) : shell_join(options.command);
  }
  std::vector<std::string> words;
  for (const auto& [name, value] : knob_environment(knobs)) words.push_back(name + "=" + value);
  words.insert(words.end(), {"python", "-m", "paddle.distributed.launch",
                             fmt::format("--nproc_per_node={}", knobs.nproc), "tools/train.py",
                             "-c", "CONFIG.yml", "-o", "Global.use_gpu=false",
                             fmt::format("Train.loader.batch_size_per_card={}", knobs.batch),
                             fmt::format("Train.loader.num_workers={}", knobs.workers)});
  return shell_join(words);
}

Result<std::unique_ptr<Judgement>> judge_run(RunRecord& run) {
  auto setup = tune_setup(run.options, run.machine);
  if (!setup) return setup.error();
  const StrategyRow* strategy = find_strategy(run.options.strategy);
  if (strategy == nullptr) {
    return Error{ErrorKind::invalid, "run " + run.id + " used the strategy '" +
                                         run.options.strategy + "', which this ocrtune lacks"};
  }
  auto judgement = std::make_unique<Judgement>();
  judgement->setup = std::move(*setup);
  TuneSetup& inputs = judgement->setup;
  judgement->search = strategy->make(inputs.space, inputs.search);
  double seconds = 0;
  for (const Trial& trial : run.trials) {
    judgement->search->tell(trial);
    seconds += trial.seconds;
  }
  inputs.recommend.run_id = run.id;
  inputs.recommend.stop_reason = run.stop_reason;
  inputs.recommend.seconds = seconds;
  run.result = recommend(inputs.space, *judgement->search, run.trials, inputs.recommend);
  run.result.recommendation.command =
      launch_command(run.options, run.machine, run.result.recommendation.knobs);
  return judgement;
}

Status judge(RunRecord& run) {
  const auto judgement = judge_run(run);
  return judgement ? Status() : Status(judgement.error());
}

}  // namespace ocrtune
