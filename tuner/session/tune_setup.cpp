#include "tuner/session/tune_setup.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/placement/partition.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "tuner/session/run_workload.h"
#include "tuner/space/default_space.h"

namespace ocrtune {
namespace {

std::vector<std::string> constraints_of(const RunOptions& options, const Machine& machine) {
  std::vector<std::string> constraints = options.constraints;
  if (options.policy == "cautious") {
    const RulesOfThumb& rules = machine.rules_of_thumb;
    const int cap = std::max(1, std::min({rules.memory_half, rules.cores_60_percent, rules.seven}));
    constraints.push_back(fmt::format("nproc<={}", cap));
  }
  return constraints;
}

// The global batch of the user's start, where it is known and no list of batches frees it: an
// answer that is faster because it trains by another recipe is another answer. 0: free.
std::int64_t recipe_batch(const RunOptions& options) {
  const bool whole_runs = starts_with(options.log_reader, "runs");  // of a program that just ends
  if (options.infers() || whole_runs || options.given.contains("batch") ||
      options.given.contains("accumulate")) {
    return 0;
  }
  const bool engine = options.command.empty() || options.engine == kPaddleEngine;
  if (engine) return options.axes.contains("batch") ? 0 : global_batch(options.baseline);
  const bool known = options.prints() && !options.baseline_guessed() &&
                     !options.baseline.untold.batch && options.axes.count("batch") == 0;
  return known && preset_trains(options.preset) ? global_batch(options.baseline) : 0;
}

// The batches that keep the recipe with each number of processes.
void add_recipe_batches(std::vector<Axis>& axes, std::int64_t global) {
  const auto named = [&](const char* name) {
    return std::find_if(axes.begin(), axes.end(),
                        [&](const Axis& axis) { return axis.name == name; });
  };
  const auto batches = named("batch"), processes = named("nproc");
  if (batches == axes.end() || processes == axes.end() || batches->values.size() < 2) return;
  std::set<std::int64_t> values;
  for (const std::string& value : batches->values) {
    values.insert(parse_integer(value).value_or(1));
  }
  for (const std::string& count : processes->values) {
    const std::int64_t ranks = parse_integer(count).value_or(1);
    if (ranks > 0 && global % ranks == 0) values.insert(global / ranks);
  }
  batches->values.clear();
  for (const std::int64_t value : values) batches->values.push_back(fmt::format("{}", value));
}

// Who lists the values of a knob gets no others, not even a rule's.
bool within_lists(const RunOptions& options, const Knobs& knobs) {
  return std::all_of(options.axes.begin(), options.axes.end(), [&](const auto& axis) {
    return std::find(axis.second.begin(), axis.second.end(), knob_text(knobs, axis.first)) !=
           axis.second.end();
  });
}

// Lists of ours that may be too short for a program that waits more than it computes: its loader
// workers and its processes. Twice as many at a time, and never without the evidence of idle CPUs.
std::vector<std::pair<std::string, int>> lists_that_go_on(const RunOptions& options,
                                                          const WorkloadSpace& workload) {
  constexpr int kMostOfEach = 64;
  std::vector<std::pair<std::string, int>> lists;
  if (options.command.empty() || options.engine == kPaddleEngine) return lists;
  for (const char* name : {"workers", "nproc"}) {
    const bool counts_gpus = std::string(name) == "nproc" && options.command_gpus > 0;
    const bool ours =
        std::any_of(workload.axes.begin(), workload.axes.end(),
                    [&](const Axis& axis) { return axis.name == name && axis.values.size() > 1; });
    if (ours && !counts_gpus && !options.axes.contains(name)) lists.emplace_back(name, kMostOfEach);
  }
  return lists;
}

}  // namespace

Result<TuneSetup> tune_setup(const RunOptions& options, const Machine& machine) {
  const auto workload = workload_of(options);
  SpaceRequest request;
  request.workload = workload->space(machine);
  request.base = options.baseline;
  for (const auto& [name, values] : options.axes) {
    request.lists.push_back(Axis{name, KnobScale::count, values});
  }
  const std::int64_t recipe = recipe_batch(options);
  if (recipe > 0) add_recipe_batches(request.workload.axes, recipe);
  std::vector<RuleSetting> rules;
  if (request.workload.rules_of_thumb) rules = rule_settings(machine, options.baseline);
  std::erase_if(rules, [&](const RuleSetting& rule) { return !within_lists(options, rule.knobs); });
  request.always.push_back(options.baseline);
  for (const RuleSetting& rule : rules) request.always.push_back(rule.knobs);
  request.constraints = constraints_of(options, machine);

  TuneSetup setup;
  setup.space = OCRTUNE_TRY(make_space(machine, request));
  setup.search.safety.limit_bytes = options.limit_bytes();
  setup.search.safety.margin = options.memory_margin;
  setup.search.safety.max_bytes = options.objective.max_peak_bytes;
  setup.search.safety.memory = workload->memory();
  setup.search.objective = options.objective;
  setup.search.recipe_batch = setup.recommend.recipe_batch = recipe;
  setup.search.cpus = usable_cpu_count(machine.cpu);
  setup.search.cores = machine.cpu.effective_cores.value_or(setup.search.cpus);
  setup.search.first_trial_seconds = options.trial_seconds + workload->overhead_seconds();
  setup.search.first = request.always;
  setup.search.hints = options.hints;
  setup.search.seed = options.seed;
  // Our own engine's pool is the one that OMP_NUM_THREADS sizes.
  if (options.prints() && options.objective.goal == Goal::throughput) {
    setup.search.doubted = {"threads"};
  }
  setup.search.further = lists_that_go_on(options, request.workload);
  setup.search.allows = OCRTUNE_TRY(setting_filter(machine, request));
  setup.recommend.cpus = setup.search.cpus;
  setup.recommend.baseline = options.baseline;
  setup.recommend.rules = rules;
  setup.recommend.limit_bytes = options.limit_bytes();
  setup.recommend.host_limit_bytes = options.memory_limit_bytes;
  setup.recommend.gpu_limit_bytes = options.on_gpus() ? options.gpu_memory_bytes : 0;
  setup.recommend.uses_gpus = options.on_gpus() || options.command_gpus > 0;
  setup.recommend.margin = options.memory_margin;
  setup.recommend.objective = options.objective;
  return setup;
}

TrialLimits trial_limits(const RunOptions& options) {
  TrialLimits limits = workload_of(options)->limits(options.trial_seconds);
  limits.memory_limit_bytes = options.memory_limit_bytes;
  return limits;
}

}  // namespace ocrtune
