// Each table is a list of columns and a function that makes a row of cells in the same order;
// schema_test.cpp holds the columns against docs/schema.md.
#include "reports/export/run_tables.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "reports/catalogue/reasons.h"

namespace ocrtune {
namespace {

// In the order of the run, from 1; the store's own number counts the trials of all its runs.
std::int64_t number_of(const RunRecord& run, const Trial& trial) {
  return &trial - run.trials.data() + 1;
}

std::int64_t whole(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// A size or time of 0 stands for "was not measured" in a Trial.
Cell unless_zero(double value) { return value == 0 ? Cell() : Cell(value); }
Cell unless_zero(std::uint64_t value) { return value == 0 ? Cell() : Cell(whole(value)); }

std::vector<std::string> dim_names(const RunRecord& run) {
  std::set<std::string> names;
  for (const Trial& trial : run.trials) {
    for (const auto& [name, value] : trial.knobs.dims) names.insert(name);
  }
  for (const SettingSummary& setting : run.result.settings) {
    for (const auto& [name, value] : setting.knobs.dims) names.insert(name);
  }
  return {names.begin(), names.end()};
}

void add_knob_columns(std::vector<std::string>& columns, const std::vector<std::string>& dims) {
  for (const KnobRow& row : knob_table()) columns.emplace_back(row.name);
  for (const std::string& dim : dims) columns.push_back("dim_" + dim);
}

void add_knob_cells(std::vector<Cell>& cells, const Knobs& knobs,
                    const std::vector<std::string>& dims) {
  for (const KnobRow& row : knob_table()) {
    if (knobs.absent.contains(row.name)) {
      cells.emplace_back();
    } else if (row.number != nullptr) {
      cells.emplace_back(std::int64_t{knobs.*row.number});
    } else {
      cells.emplace_back(knobs.*row.word);
    }
  }
  for (const std::string& dim : dims) cells.emplace_back(knob_text(knobs, dim));
}

std::vector<Cell> sample_cells(const Sample& sample, int number) {
  const Interference& seen = sample.interference;
  return {std::int64_t{number},
          sample.samples_per_second(),
          sample.seconds,
          sample.steps,
          sample.step.data_seconds,
          sample.step.compute_seconds,
          sample.step.all_reduce_seconds,
          sample.step.wait_seconds,
          std::int64_t{sample.clean() ? 1 : 0},
          seen.spoilt_by,
          seen.external_cpus,
          seen.run_queue_wait_share,
          seen.pressure_share,
          seen.throttled_seconds,
          seen.steal_share,
          whole(seen.swapped_pages)};
}

// What the windows and the peak rest on.
std::vector<Cell> observation_cells(const Trial& trial, std::size_t number) {
  std::vector<Cell> cells(5);
  if (number < trial.samples.size()) {
    const Interference& seen = trial.samples[number].interference;
    cells = {seen.observed_seconds, seen.cpu_seconds, seen.available_cpus,
             seen.external_wait_seconds, seen.longest_external_wait_seconds};
  }
  cells.push_back(unless_zero(trial.host_peak_bytes));
  for (const std::uint64_t count : {trial.possible_peak_bytes, trial.tasks.peak, trial.tasks.limit,
                                    trial.files.peak, trial.files.limit}) {
    cells.push_back(unless_zero(count));
  }
  return cells;
}

// What all windows of a trial have alike, up to its placement. `place`: from 0.
std::vector<Cell> trial_cells(const std::string& run_id, std::size_t place, const Trial& trial,
                              const std::vector<std::string>& dims) {
  std::vector<Cell> cells = {run_id,        static_cast<std::int64_t>(place) + 1,
                             trial.started, trial.phase,
                             trial.why,     std::int64_t{trial.repetition}};
  add_knob_cells(cells, trial.knobs, dims);
  for (Cell cell :
       {Cell(std::string(outcome_name(trial.outcome))), Cell(trial.cause), Cell(trial.reason),
        unless_zero(trial.samples_per_second), unless_zero(trial.peak_bytes), Cell(trial.seconds),
        unless_zero(trial.start_seconds), Cell(trial.placement)}) {
    cells.push_back(std::move(cell));
  }
  return cells;
}

// Those of the search, then those that can overturn its answer or add to it.
std::vector<const Trial*> all_trials(const RunRecord& run) {
  std::vector<const Trial*> all;
  for (const auto* part : {&run.trials, &run.rehearsals, &run.soaks, &run.cold, &run.learning}) {
    for (const Trial& trial : *part) all.push_back(&trial);
  }
  return all;
}

bool contains_knobs(const std::vector<SettingSummary>& settings, const Knobs& knobs) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const SettingSummary& setting) { return setting.knobs == knobs; });
}

// Facts of the machine, one row each.
class FactRows {
 public:
  explicit FactRows(Table& table) : table_(table) {}

  void add(const std::string& name, Cell value, const std::string& unit,
           const std::string& source = "") {
    table_.add_row({name, std::move(value), unit, source});
  }
  void text(const std::string& name, const std::string& value) {
    add(name, value.empty() ? Cell() : Cell(value), "");
  }
  template <typename T>
  void fact(const std::string& name, const Fact<T>& fact, const std::string& unit) {
    add(name, fact.known() ? cell(*fact.value) : Cell(), unit, fact.source);
  }

 private:
  static Cell cell(bool value) { return std::int64_t{value ? 1 : 0}; }
  static Cell cell(int value) { return std::int64_t{value}; }
  static Cell cell(std::uint64_t value) { return whole(value); }
  static Cell cell(double value) { return value; }
  static Cell cell(const std::string& value) { return value; }

  Table& table_;
};

void add_cpu_rows(FactRows& rows, const CpuFacts& cpu) {
  rows.text("cpu_model", cpu.model);
  rows.add("packages", std::int64_t{cpu.packages}, "");
  rows.add("numa_nodes", std::int64_t{cpu.numa_nodes}, "");
  rows.add("l3_groups", std::int64_t{cpu.l3_groups}, "");
  rows.add("l3_bytes_each", unless_zero(cpu.l3_bytes_each), "bytes");
  rows.add("physical_cores", std::int64_t{cpu.physical_cores}, "");
  rows.add("logical_cpus", std::int64_t{cpu.logical_cpus}, "");
  rows.text("allowed_cpus", cpu.allowed.text());
  rows.fact("usable_cpus", cpu.usable_cpus, "cpus");
  for (const Limit& limit : cpu.limits) {
    rows.add("cpu_limit", limit.value, "cpus", limit.limited_by);
  }
  rows.fact("effective_cores", cpu.effective_cores, "cores");
  for (const auto& [threads, speed] : cpu.scaling) {
    rows.add("speed_at_" + std::to_string(threads) + "_threads", speed, "of one thread",
             "measured");
  }
  rows.text("isa", join(cpu.isa, " "));
  rows.fact("native_bf16", cpu.native_bf16, "");
  rows.fact("governor", cpu.governor, "");
}

void add_memory_rows(FactRows& rows, const MemoryFacts& memory) {
  rows.add("memory_total_bytes", unless_zero(memory.total_bytes), "bytes");
  rows.add("memory_available_bytes", unless_zero(memory.available_bytes), "bytes");
  rows.fact("memory_limit_bytes", memory.limit_bytes, "bytes");
  for (const Limit& limit : memory.limits) {
    rows.add("memory_limit", limit.value, "bytes", limit.limited_by);
  }
  rows.fact("shm_bytes", memory.shm_bytes, "bytes");
  rows.fact("shm_free_bytes", memory.shm_free_bytes, "bytes");
  rows.add("swap_total_bytes", whole(memory.swap_total_bytes), "bytes");
  rows.add("swap_free_bytes", whole(memory.swap_free_bytes), "bytes");
  rows.fact("overcommit", memory.overcommit, "");
  rows.fact("transparent_hugepages", memory.transparent_hugepages, "");
  rows.fact("memory_bandwidth_bytes_per_second", memory.bandwidth_bytes_per_second,
            "bytes per second");
  for (const auto& [threads, speed] : memory.bandwidth) {
    rows.add("bandwidth_at_" + std::to_string(threads) + "_threads", speed, "bytes per second",
             "measured");
  }
}

}  // namespace

Table trials_table(const RunRecord& run) {
  std::vector<std::string> columns = {"run_id", "trial", "started", "phase", "why", "repetition"};
  const auto dims = dim_names(run);
  add_knob_columns(columns, dims);
  for (std::string& name :
       words("outcome cause reason trial_samples_per_second peak_bytes trial_seconds start_seconds "
             "placement sample samples_per_second sample_seconds steps data_seconds "
             "compute_seconds all_reduce_seconds wait_seconds clean spoilt_by foreign_cpus "
             "run_queue_wait_share pressure_share throttled_seconds steal_share swapped_pages "
             "reproduce round observed_seconds cpu_seconds available_cpus external_wait_seconds "
             "longest_external_wait_seconds host_peak_bytes possible_peak_bytes tasks tasks_limit "
             "open_files open_files_limit")) {
    columns.push_back(std::move(name));
  }
  Table table(std::move(columns));
  const std::vector<const Trial*> trials = all_trials(run);
  for (std::size_t place = 0; place < trials.size(); ++place) {
    const Trial& trial = *trials[place];
    // A row is head, window, then `reproduce`, `round` and what the window rests on.
    const std::vector<Cell> head = trial_cells(run.id, place, trial, dims);
    // A trial without windows leaves the window's columns empty: they lie between head and tail.
    const std::size_t behind = 2 + observation_cells(trial, 0).size();
    const std::size_t sample_columns = table.columns().size() - head.size() - behind;
    for (std::size_t i = 0; i < std::max<std::size_t>(trial.samples.size(), 1); ++i) {
      std::vector<Cell> row = head;
      row.reserve(table.columns().size());
      if (trial.samples.empty()) {
        row.resize(row.size() + sample_columns);
      } else {
        auto cells = sample_cells(trial.samples[i], static_cast<int>(i));
        std::move(cells.begin(), cells.end(), std::back_inserter(row));
      }
      row.emplace_back(trial.reproduce);
      row.emplace_back(std::int64_t{trial.round});
      for (Cell& cell : observation_cells(trial, i)) row.push_back(std::move(cell));
      table.add_row(std::move(row));
    }
  }
  return table;
}

Table summary_table(const RunRecord& run) {
  std::vector<std::string> columns = {"run_id"};
  const auto dims = dim_names(run);
  add_knob_columns(columns, dims);
  for (const char* name :
       {"samples_per_second", "samples_per_second_low", "samples_per_second_high", "peak_bytes",
        "outcome", "reason", "trials", "clean_samples", "spoilt_samples", "is_recommended",
        "is_baseline", "is_tie"}) {
    columns.emplace_back(name);
  }
  Table table(std::move(columns));
  const TuneResult& result = run.result;
  for (const SettingSummary& setting : result.settings) {
    const bool recommended =
        is_recommendation(result.verdict) && setting.knobs == result.recommendation.knobs;
    std::vector<Cell> row = {run.id};
    add_knob_cells(row, setting.knobs, dims);
    const Interval& rate = setting.samples_per_second;
    for (Cell cell :
         {unless_zero(rate.median), unless_zero(rate.low), unless_zero(rate.high),
          unless_zero(setting.peak_bytes), Cell(std::string(outcome_name(setting.outcome))),
          Cell(sentence(setting.reason)), Cell(std::int64_t{setting.trials}),
          Cell(std::int64_t{setting.clean_samples}), Cell(std::int64_t{setting.discarded_samples}),
          Cell(std::int64_t{recommended ? 1 : 0}),
          Cell(std::int64_t{setting.knobs == result.baseline.knobs ? 1 : 0}),
          Cell(std::int64_t{contains_knobs(result.ties, setting.knobs) ? 1 : 0})}) {
      row.push_back(std::move(cell));
    }
    table.add_row(std::move(row));
  }
  return table;
}

Table probe_table(const Machine& machine) {
  Table table({"fact", "value", "unit", "source"});
  FactRows rows(table);
  rows.text("host", machine.host);
  rows.text("kernel", machine.kernel);
  rows.text("os", machine.os);
  rows.text("fingerprint", machine.fingerprint);
  rows.fact("container", machine.container, "");
  rows.fact("virtual_machine", machine.virtual_machine, "");
  add_cpu_rows(rows, machine.cpu);
  add_memory_rows(rows, machine.memory);
  for (const auto& [name, value] : machine.ulimits) rows.add("ulimit_" + name, value, "");
  for (const ThreadEnvFact& fact : machine.thread_env) {
    rows.add("env_" + fact.name, fact.value, "", fact.effect);
  }
  rows.text("gpu_state", machine.gpu_state);
  for (const GpuFacts& gpu : machine.gpus) {
    const std::string name = "gpu_" + std::to_string(gpu.index);
    rows.add(name, gpu.name, "", gpu.uuid);
    rows.add(name + "_memory_bytes", whole(gpu.memory_bytes), "bytes", gpu.driver);
  }
  rows.add("folk_rule_memory_half", std::int64_t{machine.rules_of_thumb.memory_half}, "processes");
  rows.add("folk_rule_cores_60_percent", std::int64_t{machine.rules_of_thumb.cores_60_percent},
           "processes");
  rows.add("folk_rule_seven", std::int64_t{machine.rules_of_thumb.seven}, "processes");
  for (const std::string& unknown : machine.unknowns) rows.add("unknown", Cell(), "", unknown);
  for (const std::string& warning : machine.warnings) rows.add("warning", warning, "");
  return table;
}

Table failures_table(const RunRecord& run) {
  Table table({"run_id", "trial", "started", "setting", "outcome", "cause", "reason", "evidence",
               "trial_seconds", "peak_bytes", "reproduce"});
  for (const Trial& trial : run.trials) {
    if (trial.ok()) continue;
    table.add_row({run.id, number_of(run, trial), trial.started, knobs_text(trial.knobs),
                   std::string(outcome_name(trial.outcome)), trial.cause, trial.reason,
                   join(trial.evidence, "\n"), trial.seconds, unless_zero(trial.peak_bytes),
                   trial.reproduce});
  }
  return table;
}

}  // namespace ocrtune
