// The one place where a job becomes a space, options of a search and options of a verdict. It has
// no memory of its own: a stored run is set up again from what is stored, and must come out the
// same.
#include "tuner/session/tune_setup.h"

#include <algorithm>
#include <atomic>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/command_mask.h"
#include "probes/placement/partition.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/learning_trials.h"
#include "tuner/session/recipe_batch.h"
#include "tuner/space/default_space.h"

namespace ocrtune {
namespace {

std::atomic<int> setups_made = 0;

std::vector<std::string> constraints_of(const SearchRequest& search, const Machine& machine) {
  std::vector<std::string> constraints = search.constraints;
  if (search.policy == "cautious") {
    const RulesOfThumb& rules = machine.rules_of_thumb;
    // Cautious: the strictest rule of thumb bounds the processes.
    const int cap = std::max(1, std::min({rules.memory_half, rules.cores_60_percent, rules.seven}));
    constraints.push_back(fmt::format("nproc<={}", cap));
  }
  return constraints;
}

// A command of the user's, or one over several hosts: no model of ours on this machine.
bool is_foreign(const Job& job) {
  const auto* external = std::get_if<ExternalJob>(&job.kind);
  return !job.command().empty() && (external == nullptr || !external->in_paddle);
}

// --prove-learning has two recipes to compare, and their losses.
Status check_learning(const Job& job, std::int64_t recipe) {
  if (!learns(job)) {
    return Error{ErrorKind::usage,
                 "--prove-learning is for training that prints a loss: the built-in engine on the "
                 "lines of --data, or a command whose lines hold one"};
  }
  if (recipe > 0) return Status();
  return Error{ErrorKind::usage,
               "--prove-learning compares with the global batch of the present start: name it, "
               "such as --baseline batch=8, and leave --batch and --accumulate out, which free it"};
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
  for (const std::string& value : batches->values) values.insert(parse_integer(value).value_or(1));
  for (const std::string& count : processes->values) {
    const std::int64_t ranks = parse_integer(count).value_or(1);
    // A batch that does not divide the global one would change the recipe.
    if (ranks > 0 && global % ranks == 0) values.insert(global / ranks);
  }
  batches->values.clear();
  for (const std::int64_t value : values) batches->values.push_back(fmt::format("{}", value));
}

// Who lists the values of a knob gets no others, not even a rule's.
bool within_lists(const SearchRequest& search, const Knobs& knobs) {
  return std::all_of(search.axes.begin(), search.axes.end(), [&](const auto& axis) {
    return std::find(axis.second.begin(), axis.second.end(), knob_text(knobs, axis.first)) !=
           axis.second.end();
  });
}

// Lists of ours that may be too short for a program that waits more than it computes: its loader
// workers and its processes. Twice as many at a time, and never without the evidence of idle CPUs.
std::vector<std::pair<std::string, int>> lists_that_go_on(const Job& job,
                                                          const SearchRequest& search,
                                                          const WorkloadSpace& workload) {
  // Loaders or processes, at most; guess.
  constexpr int kMostOfEach = 64;
  std::vector<std::pair<std::string, int>> lists;
  if (!is_foreign(job)) return lists;
  for (const char* name : {"workers", "nproc"}) {
    const bool counts_gpus = std::string(name) == "nproc" && job.command_gpus() > 0;
    const bool ours =
        std::any_of(workload.axes.begin(), workload.axes.end(),
                    [&](const Axis& axis) { return axis.name == name && axis.values.size() > 1; });
    if (ours && !counts_gpus && !search.axes.contains(name)) lists.emplace_back(name, kMostOfEach);
  }
  return lists;
}

}  // namespace

std::int64_t recipe_batch(const Job& job, const SearchRequest& search) {
  const bool whole_runs =
      starts_with(job.program().log_reader, "runs");  // of a program that just ends
  if (job.infers() || whole_runs || search.lists("batch") || search.lists("accumulate")) return 0;
  if (!is_foreign(job)) return search.axes.contains("batch") ? 0 : global_batch(search.baseline);
  const bool known = job.prints() && !search.baseline_guessed() &&
                     !search.baseline.absent.contains("batch") && search.axes.count("batch") == 0;
  return known && preset_trains(job.program().preset) ? global_batch(search.baseline) : 0;
}

bool lacks_engine(const Job& job) {
  const bool built_in =
      std::holds_alternative<TrainingJob>(job.kind) || std::holds_alternative<ReadingJob>(job.kind);
  return built_in && engine_parts() == nullptr;
}

int tune_setups_made() { return setups_made; }

Result<TuneSetup> tune_setup(const Job& job, const SearchRequest& search, const Machine& here) {
  ++setups_made;
  // Its memory is planned by the engine, for a verdict on a stored run as well.
  if (lacks_engine(job)) return engine_elsewhere();
  const auto workload = workload_of(job, search);
  Machine machine = here;  // what a mask in the command's words leaves of it
  machine.cpu = cpus_of(here.cpu, job.command());
  SpaceRequest request;
  request.workload = workload->space(machine);
  request.base = search.baseline;
  for (const auto& [name, values] : search.axes) {
    request.lists.push_back(Axis{name, KnobScale::count, values});
  }
  const std::int64_t recipe = recipe_batch(job, search);
  if (search.learning_seconds > 0) OCRTUNE_TRY(check_learning(job, recipe));
  if (recipe > 0) add_recipe_batches(request.workload.axes, recipe);
  std::vector<RuleSetting> rules;
  if (request.workload.rules_of_thumb) rules = rule_settings(machine, search.baseline);
  std::erase_if(rules, [&](const RuleSetting& rule) { return !within_lists(search, rule.knobs); });
  request.always.push_back(search.baseline);
  for (const RuleSetting& rule : rules) request.always.push_back(rule.knobs);
  request.constraints = constraints_of(search, machine);

  TuneSetup setup;
  setup.space = OCRTUNE_TRY(make_space(machine, request));
  setup.search.safety.limit_bytes = limit_bytes(job, search);
  setup.search.safety.margin = search.memory_margin;
  setup.search.safety.max_bytes = search.objective.max_peak_bytes;
  setup.search.safety.memory = workload->memory();
  setup.search.objective = search.objective;
  setup.search.objective.rate = workload->unit();
  setup.search.recipe_batch = setup.recommend.recipe_batch = recipe;
  setup.search.cpus = usable_cpu_count(machine.cpu);
  setup.search.cores = machine.cpu.effective_cores.value_or(setup.search.cpus);
  setup.search.first_trial_seconds = search.trial_seconds + workload->overhead_seconds();
  // The baseline first, then the rules: SearchBoard::always relies on the order.
  setup.search.first = request.always;
  setup.search.hints = search.hints;
  for (Knobs& hint : setup.search.hints) hint.absent = search.baseline.absent;  // of another run
  setup.search.seed = search.seed;
  // Our own engine's pool is the one that OMP_NUM_THREADS sizes.
  if (job.prints() && search.objective.goal == Goal::throughput) {
    setup.search.doubted = {"threads"};
  }
  setup.search.further = lists_that_go_on(job, search, request.workload);
  setup.search.allows = OCRTUNE_TRY(setting_filter(machine, request));
  setup.recommend.cpus = usable_cpu_count(here.cpu);
  if (here.virtual_machine.value_or("none") != "none") setup.recommend.another_hour = kAnotherHour;
  setup.recommend.fixed = search.out_of_reach();
  setup.recommend.baseline = search.baseline;
  setup.recommend.rules = rules;
  setup.recommend.limit_bytes = limit_bytes(job, search);
  setup.recommend.host_limit_bytes = search.memory_limit_bytes;
  setup.recommend.gpu_limit_bytes = job.on_gpus() ? job.gpu_memory_bytes() : 0;
  setup.recommend.uses_gpus = job.on_gpus() || job.command_gpus() > 0;
  setup.recommend.margin = search.memory_margin;
  setup.recommend.objective = setup.search.objective;
  return setup;
}

TrialLimits trial_limits(const Job& job, const SearchRequest& search) {
  TrialLimits limits = workload_of(job, search)->limits(search.trial_seconds);
  limits.memory_limit_bytes = search.memory_limit_bytes;
  return limits;
}

}  // namespace ocrtune
