#include "capacity/node_measurement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "base/random.h"
#include "base/stats.h"
#include "base/text.h"
#include "tuner/slo/slo_words.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr const char* kNodesDimension = "nodes";
constexpr double kPriorNoise = 0.02;
constexpr double kAssumedSpread = 0.25;  // of service times, where none was recorded
constexpr int kBootstrapDraws = 99;

struct Measured {
  Knobs knobs;
  std::vector<double> rates;
  std::uint64_t peak_bytes = 0;
};

int nodes_of(const Knobs& knobs) {
  const auto found = knobs.dims.find(kNodesDimension);
  if (found == knobs.dims.end()) return 1;
  const auto nodes = parse_integer(found->second);
  return nodes && *nodes > 0 ? static_cast<int>(*nodes) : 1;
}

Knobs on_nodes(Knobs knobs, int nodes) {
  const auto found = knobs.dims.find(kNodesDimension);
  if (found != knobs.dims.end()) found->second = std::to_string(nodes);
  return knobs;
}

// Seconds of a batch of k are fixed + k x each; a least-squares line through the batches measured.
void fit_batch_cost(const std::vector<Measured>& all, NodeMeasurement& node) {
  const double own = node.knobs.nproc * node.knobs.batch / median(node.rates);
  node.service.fixed_seconds = own;
  node.service.seconds_each = 0;
  if (node.knobs.batch == 1) {
    node.batch_cost_known = true;
    return;
  }
  double count = 0, sum_k = 0, sum_s = 0, sum_kk = 0, sum_ks = 0;
  for (const Measured& one : all) {
    Knobs like = one.knobs;
    like.batch = node.knobs.batch;
    if (like != node.knobs) continue;
    const double k = one.knobs.batch;
    const double seconds = node.knobs.nproc * k / median(one.rates);
    const double weight = 1 / (seconds * seconds);  // relative errors
    count += weight;
    sum_k += weight * k;
    sum_s += weight * seconds;
    sum_kk += weight * k * k;
    sum_ks += weight * k * seconds;
  }
  const double spread = count * sum_kk - sum_k * sum_k;
  if (spread <= 1e-9 * count * sum_kk) return;
  const double each = (count * sum_ks - sum_k * sum_s) / spread;
  node.batch_cost_known = true;
  node.service.seconds_each = std::clamp(each, 0.0, own / node.knobs.batch);
  node.service.fixed_seconds = own - node.service.seconds_each * node.knobs.batch;
}

std::vector<double> spread_draws(double stddev) {
  Random random(17);
  std::vector<double> draws;
  for (int i = 0; i < kBootstrapDraws; ++i) draws.push_back(std::exp(stddev * random.normal()));
  const double centre = mean(draws);
  for (double& draw : draws) draw /= centre;
  return draws;
}

// Windows average their steps, so the deviation of a step is about root(steps) that of a window.
std::optional<double> step_spread(const RunRecord& run, const Knobs& knobs) {
  std::vector<double> logs;
  double steps = 0;
  for (const Trial& trial : run.trials) {
    if (!trial.ok() || trial.knobs != knobs) continue;
    for (const Sample& sample : trial.samples) {
      if (!sample.clean() || sample.samples_per_second <= 0 || sample.steps < 1) continue;
      logs.push_back(std::log(sample.samples_per_second));
      steps += static_cast<double>(sample.steps);
    }
  }
  if (logs.size() < 4) return std::nullopt;
  const double window = median_absolute_deviation(logs);
  return std::clamp(window * std::sqrt(steps / static_cast<double>(logs.size())), 0.02, 1.0);
}

double start_of(const RunRecord& run, const Knobs& knobs) {
  std::vector<double> starts;
  for (const Trial& trial : run.trials) {
    if (trial.ok() && trial.knobs == knobs) starts.push_back(trial.start_seconds);
  }
  return median(starts);
}

void add_point(std::vector<ScalingPoint>& points, int count, const Measured& from) {
  points.push_back({count, from.knobs.threads, from.rates});
}

// `wanted`: the setting to plan with, where it is among them; else the fastest.
Result<NodeMeasurement> assemble(const std::vector<Measured>& all, const std::string& source,
                                 const Knobs* wanted = nullptr) {
  const Measured* best = nullptr;
  for (const Measured& one : all) {
    if (nodes_of(one.knobs) > 1) continue;
    if (wanted != nullptr && one.knobs == *wanted) {
      best = &one;
      break;
    }
    if (best == nullptr || median(one.rates) > median(best->rates)) best = &one;
  }
  if (best == nullptr) {
    return Error{ErrorKind::invalid,
                 source + ": no setting of one node worked; nothing to plan from"};
  }
  NodeMeasurement node;
  node.source = source;
  node.knobs = best->knobs;
  node.rates = best->rates;
  node.peak_bytes = best->peak_bytes;
  for (const Measured& one : all) {
    Knobs like = one.knobs;
    like.nproc = best->knobs.nproc;
    if (like == best->knobs) add_point(node.points, one.knobs.nproc, one);
    const int nodes = nodes_of(one.knobs);
    if (one.knobs == on_nodes(best->knobs, nodes)) add_point(node.nodes, nodes, one);
  }
  if (merge_points(node.nodes).size() < 2) node.nodes.clear();
  fit_batch_cost(all, node);
  return node;
}

// Under an SLO the search proves rates over a short time; only the full-length proof is claimed.
void claim_what_was_proved(const RunRecord& run, NodeMeasurement& node) {
  if (run.options.slo.empty()) return;
  if (const Trial* proof = proof_of(run, node.knobs)) {
    node.rates = {proof->samples_per_second};
    node.notes.emplace_back("the rate of one machine is the one that was proved at full length");
  } else {
    node.notes.emplace_back(
        "the rate of one machine was not proved at full length: tune with a longer --budget");
  }
}

}  // namespace

namespace {

std::vector<Measured> measured_settings(const RunRecord& run, double noise) {
  std::vector<Measured> all;
  for (const Setting& setting : settings_of(run.trials, noise)) {
    if (!setting.works()) continue;
    all.push_back({setting.summary.knobs, setting.rates, setting.summary.peak_bytes});
  }
  return all;
}

std::string machine_words(const RunRecord& run) {
  const auto& gpus = run.machine.gpus;
  const auto used = std::max(run.options.gpus.size(),
                             static_cast<std::size_t>(std::max(0, run.options.command_gpus)));
  if (used > 0 && !gpus.empty()) return fmt::format("{} x {}", used, gpus.front().name);
  const CpuFacts& cpu = run.machine.cpu;
  if (!cpu.usable_cpus.known()) return cpu.model;
  return fmt::format("{}{}{:g} CPUs", cpu.model, cpu.model.empty() ? "" : ", ",
                     *cpu.usable_cpus.value);
}

// What belongs to the run and not to one of its settings.
void describe(const RunRecord& run, double noise, NodeMeasurement& node) {
  node.mode = run.options.mode;
  node.machine = machine_words(run);
  node.started = run.started;
  const bool own = !run.options.command.empty() || !run.options.url.empty();
  node.unit = !run.options.infers() || run.options.prints() ? "images"
              : own                                         ? "requests"
                                                            : "line images";
  node.slo = run.options.slo;
  node.start_seconds = start_of(run, node.knobs);
  node.noise = noise;
  const auto spread = step_spread(run, node.knobs);
  node.service_spread_known = spread.has_value();
  node.service.relative = spread_draws(spread.value_or(kAssumedSpread));
  const Machine& machine = run.machine;
  node.usable_cores = planning_cores(machine);
  node.core_multiply_adds_per_second = machine.cpu.core_multiply_adds_per_second.value_or(0);
  node.memory_bytes = static_cast<std::uint64_t>(machine.memory.limit_bytes.value_or(0));
  node.bandwidth_bytes_per_second = machine.memory.bandwidth_bytes_per_second.value_or(0);
  std::size_t all = 0;
  for (const Trial& trial : run.trials) all += trial.samples.size();
  node.disturbed = 2 * static_cast<std::size_t>(run.result.discarded_samples) > all;
  if (node.disturbed) {
    node.notes.emplace_back(
        "the measurement was disturbed by other load (NOISY HOST): tune again when the machine is "
        "idle to narrow this plan");
  }
}

// The other settings of one node, each as if it were the one to plan with.
void add_others(const std::vector<Measured>& all, std::vector<NodeMeasurement>& nodes) {
  for (const Measured& one : all) {
    if (nodes_of(one.knobs) > 1 || one.knobs == nodes.front().knobs) continue;
    if (auto node = assemble(all, nodes.front().source, &one.knobs)) {
      nodes.push_back(*std::move(node));
    }
  }
}

}  // namespace

double planning_cores(const Machine& machine) {
  const double usable = machine.cpu.usable_cpus.value_or(0);
  const double effective = machine.cpu.effective_cores.value_or(usable);
  if (usable <= 0) return effective;
  const double physical = machine.cpu.physical_cores > 0 ? machine.cpu.physical_cores : usable;
  return std::clamp(effective, std::min(physical, usable), usable);
}

Result<NodeMeasurement> measure_node(const RunRecord& run) {
  const double noise = repeat_noise(run.trials, kPriorNoise);
  const Recommendation& recommended = run.result.recommendation;
  auto node = assemble(measured_settings(run, noise), "run " + run.id,
                       run.result.found ? &recommended.knobs : nullptr);
  if (!node) return node;
  if (run.result.found && recommended.samples_per_second.median > 0) {
    node->stated_rate = recommended.samples_per_second;
  }
  claim_what_was_proved(run, *node);
  describe(run, noise, *node);
  return node;
}

Result<std::vector<NodeMeasurement>> measure_settings(const RunRecord& run) {
  auto first = OCRTUNE_TRY(measure_node(run));
  std::vector<NodeMeasurement> nodes = {std::move(first)};
  if (!run.options.slo.empty()) return nodes;
  const double noise = repeat_noise(run.trials, kPriorNoise);
  add_others(measured_settings(run, noise), nodes);
  for (std::size_t i = 1; i < nodes.size(); ++i) describe(run, noise, nodes[i]);
  return nodes;
}

namespace {

std::vector<Measured> measured_settings(const RecordedTable& table) {
  std::vector<Measured> all;
  for (const TableRow& row : table.rows) {
    if (row.outcome != Outcome::ok || row.samples_per_second <= 0) continue;
    all.push_back({row.knobs, {row.samples_per_second}, row.peak_bytes});
  }
  return all;
}

void describe(const RecordedTable& table, NodeMeasurement& node) {
  std::vector<double> noises;
  for (const TableRow& row : table.rows) {
    if (row.outcome == Outcome::ok) noises.push_back(row.noise_sigma);
  }
  node.noise = std::max(kPriorNoise, median(noises));
  node.service.relative = spread_draws(kAssumedSpread);
  node.usable_cores = table.cores;
  node.memory_bytes = table.memory_bytes;
}

}  // namespace

Result<NodeMeasurement> measure_node(const RecordedTable& table, const std::string& name) {
  auto node = assemble(measured_settings(table), "table " + name);
  if (node) describe(table, *node);
  return node;
}

Result<std::vector<NodeMeasurement>> measure_settings(const RecordedTable& table,
                                                      const std::string& name) {
  auto first = OCRTUNE_TRY(measure_node(table, name));
  std::vector<NodeMeasurement> nodes = {std::move(first)};
  add_others(measured_settings(table), nodes);
  for (std::size_t i = 1; i < nodes.size(); ++i) describe(table, nodes[i]);
  return nodes;
}

}  // namespace ocrtune
