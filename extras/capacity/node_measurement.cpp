// From a run's settings or a table's rows to one NodeMeasurement: the setting to plan with, its
// scaling points, service times by batch, what was proved. The times of a service's requests come
// from its own closed load.
#include "extras/capacity/node_measurement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/normal.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/command/command_fill.h"
#include "tuner/slo/slo_words.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// Guesses, but for the hundred steps that a 99th percentile takes.
constexpr double kPriorNoise = 0.02;
constexpr int kServiceDraws = 200;
constexpr int kEnoughSteps = 100;  // for quantiles up to the 99th

struct Measured {
  Knobs knobs;
  std::vector<double> rates;
  std::uint64_t peak_bytes = 0;
  std::vector<double> relative;  // service times over their mean; empty: not recorded
  Interval stated;               // the rate as the run's answer states it; all zero: a table's row
};

// Equally likely service times relative to their mean, from the quantile at each normal deviate.
std::vector<double> draws_of(const std::function<double(double)>& relative_at) {
  std::vector<double> draws;
  for (int i = 0; i < kServiceDraws; ++i) {
    draws.push_back(relative_at(normal_quantile((i + 0.5) / kServiceDraws)));
  }
  const double centre = mean(draws);
  for (double& draw : draws) draw /= centre;
  return draws;
}

std::vector<double> lognormal_draws(double stddev) {
  return draws_of([stddev](double z) { return std::exp(stddev * z); });
}

// As the recorded steps: their logarithm is taken as linear in the normal deviate between the
// quantiles that are kept, beyond the last as before it, below the median as above it.
std::vector<double> recorded_draws(const StepLatency& latency) {
  constexpr double kDeviates[] = {0, 1.2816, 1.6449, 2.3263};  // of p50, p90, p95, p99
  const double logs[] = {0, std::log(latency.p90_seconds / latency.p50_seconds),
                         std::log(latency.p95_seconds / latency.p50_seconds),
                         std::log(latency.p99_seconds / latency.p50_seconds)};
  return draws_of([&](double z) {
    std::size_t last = 1;
    while (last < 3 && std::abs(z) > kDeviates[last]) ++last;
    const double slope = (logs[last] - logs[last - 1]) / (kDeviates[last] - kDeviates[last - 1]);
    const double above = logs[last - 1] + slope * (std::abs(z) - kDeviates[last - 1]);
    return std::exp(z < 0 ? -above : above);
  });
}

// A step of the built-in engine is a chunk of several batches.
double batches_in_step(const std::vector<const Trial*>& trials) {
  double images = 0, places = 0;
  for (const Trial* trial : trials) {
    for (const Sample& sample : trial->samples) {
      images += sample.samples;
      places += static_cast<double>(sample.steps) * batch_of(trial->knobs);
    }
  }
  return places > 0 ? std::max(1.0, images / places) : 1;
}

// Windows average their steps, so the deviation of a step is about root(steps) that of a window.
std::optional<double> window_spread(const std::vector<const Trial*>& trials) {
  std::vector<double> deviations;
  double steps = 0;
  for (const Trial* trial : trials) {
    std::vector<double> logs;
    for (const Sample& sample : trial->samples) {
      if (!sample.clean() || sample.samples_per_second() <= 0 || sample.steps < 1) continue;
      logs.push_back(std::log(sample.samples_per_second()));
      steps += static_cast<double>(sample.steps);
    }
    const double centre = logs.empty() ? 0 : median(logs);  // trials differ by more than steps do
    for (const double each : logs) deviations.push_back(each - centre);
  }
  if (deviations.size() < 4) return std::nullopt;
  const double window = median_absolute_deviation(deviations);
  return window * std::sqrt(steps / static_cast<double>(deviations.size()));
}

// Relative service times of one setting; empty: they were not recorded.
std::vector<double> relative_times(const RunRecord& run, const Knobs& knobs) {
  std::vector<const Trial*> trials;
  const Trial* longest = nullptr;
  for (const Trial& trial : run.trials) {
    if (!trial.ok() || trial.knobs != knobs) continue;
    trials.push_back(&trial);
    if (longest == nullptr || trial.latency.steps > longest->latency.steps) longest = &trial;
  }
  const double batches = batches_in_step(trials);
  if (longest != nullptr && longest->latency.steps >= kEnoughSteps) {
    const StepLatency& latency = longest->latency;
    if (latency.p50_seconds > 0 && latency.p99_seconds > latency.p50_seconds && batches < 1.5) {
      return recorded_draws(latency);
    }
  }
  const auto spread = window_spread(trials);
  if (!spread) return {};
  // A step of several batches varies less than one of them.
  return lognormal_draws(std::clamp(*spread * std::sqrt(batches), 0.02, 1.0));
}

bool same_but_for_batch(Knobs knobs, const Knobs& other) {
  knobs.batch = other.batch;
  return knobs == other;
}

// Seconds of a batch of each measured size up to the node's own. Below the smallest one the line
// through the two smallest goes on.
void take_service_times(const std::vector<Measured>& all, NodeMeasurement& node) {
  for (const Measured& one : all) {
    const int batch = batch_of(one.knobs);
    if (batch > batch_of(node.knobs) || !same_but_for_batch(one.knobs, node.knobs)) continue;
    BatchTimes times{batch, one.relative.empty() ? lognormal_draws(kAssumedSpread) : one.relative};
    const double seconds = one.knobs.nproc * batch / median(one.rates);
    for (double& each : times.seconds) each *= seconds;
    node.service.push_back(std::move(times));
  }
  std::sort(node.service.begin(), node.service.end(),
            [](const auto& a, const auto& b) { return a.requests < b.requests; });
  node.batch_cost_known = batch_of(node.knobs) == 1 || node.service.size() > 1;
  const BatchTimes& first = node.service.front();
  if (first.requests == 1 || node.service.size() == 1) return;
  const BatchTimes& second = node.service[1];
  const double own = mean(first.seconds);
  const double each = (mean(second.seconds) - own) / (second.requests - first.requests);
  // Between a batch that costs by the request and one that costs the same whatever it holds.
  const double alone = std::clamp(own - each * (first.requests - 1), own / first.requests, own);
  BatchTimes single{1, first.seconds};
  for (double& seconds : single.seconds) seconds *= alone / own;
  node.service.insert(node.service.begin(), std::move(single));
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
  node.stated_rate = best->stated;
  node.servers = node.knobs.nproc;
  for (const Measured& one : all) {
    Knobs like = one.knobs;
    like.nproc = best->knobs.nproc;
    if (like == best->knobs) add_point(node.points, one.knobs.nproc, one);
    const int nodes = nodes_of(one.knobs);
    if (one.knobs == on_nodes(best->knobs, nodes)) add_point(node.nodes, nodes, one);
  }
  // One count of nodes is no curve.
  if (merge_points(node.nodes).size() < 2) node.nodes.clear();
  take_service_times(all, node);
  node.service_spread_known = !best->relative.empty();
  return node;
}

// Under an SLO the search proves rates over a short time; only the full-length proof is claimed.
void claim_what_was_proved(const RunRecord& run, NodeMeasurement& node) {
  if (run.job.slo().empty()) return;
  const Trial* proof = proof_of(run, node.knobs);
  node.proof = proof != nullptr ? SloProof::proved : SloProof::unproved;
  if (proof != nullptr) node.rates = {proof->samples_per_second};
  node.may_be_higher = rate_may_be_higher(run, node.knobs);
  // An open load may look kept for a while above what the service can do at all.
  double most = 0;
  for (const Trial& soak : run.soaks) {
    if (soak.ok() && soak.knobs == node.knobs) most = std::max(most, soak.samples_per_second);
  }
  const double centre = centre_of(node);
  if (most <= 0 || centre <= most) return;
  node.capped = true;
  node.proof = SloProof::unproved;
  for (double& rate : node.rates) rate = std::min(rate, most);
  Interval& stated = node.stated_rate;
  for (double* end : {&stated.median, &stated.low, &stated.high}) *end = std::min(*end, most);
}

// The latencies of a service's requests at the closed load that its rate was measured with. What is
// in flight is the rate times the mean latency (Little's law); where the two are further apart than
// twice, the latencies are those of another load and not taken.
void take_request_times(const RunRecord& run, NodeMeasurement& node) {
  const Trial* longest = nullptr;
  for (const Trial& trial : run.trials) {
    if (!trial.ok() || trial.knobs != node.knobs || trial.service.in_flight < 1) continue;
    if (longest == nullptr || trial.seconds > longest->seconds) longest = &trial;
  }
  if (longest == nullptr || longest->service.p50_seconds <= 0) return;
  const ServiceFacts& seen = longest->service;
  // The normal deviate of the 99th percentile.
  constexpr double kDeviate99 = 2.3263;
  const double tail = std::max(seen.p99_seconds / seen.p50_seconds, 1.0);
  BatchTimes times{1, lognormal_draws(std::clamp(std::log(tail) / kDeviate99, 0.02, 1.0))};
  const double all = seen.in_flight / median(node.rates);  // the mean that the rate tells
  // The mean comes from the rate, only the shape from the recorded quantiles.
  for (double& seconds : times.seconds) seconds *= all;
  const double off = median(times.seconds) / seen.p50_seconds;
  if (off < 0.5 || off > 2) return;
  if (seen.alone_seconds > 0) {
    node.alone_share = std::min(1.0, seen.alone_seconds / median(times.seconds));
  }
  node.servers = seen.in_flight;
  node.service = {std::move(times)};
  node.request_seconds_known = node.service_spread_known = node.batch_cost_known = true;
}

std::vector<Measured> measured_settings(const RunRecord& run, double noise) {
  std::vector<Measured> all;
  for (const Setting& setting : settings_of(run.trials, noise)) {
    if (!setting.works()) continue;
    const Knobs& knobs = setting.summary.knobs;
    all.push_back({knobs, setting.rates, setting.summary.peak_bytes, relative_times(run, knobs),
                   setting.summary.samples_per_second});
  }
  return all;
}

std::string machine_words(const RunRecord& run) {
  const auto& gpus = run.machine.gpus;
  const auto used = std::max(run.job.gpus().size(),
                             static_cast<std::size_t>(std::max(0, run.job.command_gpus())));
  if (used > 0 && !gpus.empty()) return fmt::format("{} x {}", used, gpus.front().name);
  const CpuFacts& cpu = run.machine.cpu;
  if (!cpu.usable_cpus.known()) return cpu.model;
  return fmt::format("{}{}{:g} CPUs", cpu.model, cpu.model.empty() ? "" : ", ",
                     *cpu.usable_cpus.value);
}

// What belongs to the run and not to one of its settings.
void describe(const RunRecord& run, double noise, NodeMeasurement& node) {
  node.run = run.id;
  node.work = what_it_does(run);
  node.batched = !node.knobs.absent.contains("batch");
  node.on_gpus = run.job.on_gpus() || run.job.command_gpus() > 0 ||
                 std::ranges::any_of(run.trials, [](const Trial& trial) {
                   return std::ranges::any_of(trial.gpus, &GpuShare::worked);
                 });
  node.machine = machine_words(run);
  node.started = run.started;
  node.unit = counted_unit(run);
  const Verdict& verdict = run.result.verdict;
  node.inconclusive = verdict.answer == Answer::inconclusive;
  node.beside_load = verdict.beside_load && !verdict.same_when_idle;
  if (run.result.found && node.knobs == run.result.recommendation.knobs) {
    for (const Resource& resource : verdict.safety.resources) {
      if (resource.kind != ResourceKind::host_memory) continue;
      node.peak_bytes = std::max({node.peak_bytes, resource.peak, resource.possible});
    }
  }
  node.slo = run.job.slo();
  node.start_seconds = start_of(run, node.knobs);
  node.noise = noise;
  const Machine& machine = run.machine;
  node.usable_cores = planning_cores(machine);
  node.core_multiply_adds_per_second = machine.cpu.core_multiply_adds_per_second.value_or(0);
  node.memory_bytes = static_cast<std::uint64_t>(machine.memory.limit_bytes.value_or(0));
  node.bandwidth_bytes_per_second = machine.memory.bandwidth_bytes_per_second.value_or(0);
  std::size_t all = 0;
  for (const Trial& trial : run.trials) all += trial.samples.size();
  node.disturbed = 2 * static_cast<std::size_t>(run.result.discarded_samples) > all;
  if (node.work == RunWork::serves && node.slo.empty()) take_request_times(run, node);
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

double normal_quantile(double share) {
  double low = -8, high = 8;
  while (high - low > 1e-6) {
    const double middle = 0.5 * (low + high);
    (normal_cdf(middle) < share ? low : high) = middle;
  }
  return low;
}

int batch_of(const Knobs& knobs) { return knobs.absent.contains("batch") ? 1 : knobs.batch; }

double draw_spread(Random& random) { return std::exp(kSpreadDoubt * random.normal()); }

double speed_error() { return std::hypot(kMachineSpread, std::sqrt(2.0) * kDaySpread); }

double centre_of(const NodeMeasurement& node) {
  return node.stated_rate.median > 0 ? node.stated_rate.median : median(node.rates);
}

double rate_error(const NodeMeasurement& node) {
  const double repeats =
      median_error(std::max(node.noise, 0.01), static_cast<int>(node.rates.size()));
  const Interval& stated = node.stated_rate;
  if (stated.low <= 0 || stated.high <= stated.low) return repeats;
  // Of a 95 % interval.
  return std::max(repeats, std::log(stated.high / stated.low) / (2 * kNormal95));
}

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
  if (!run.job.slo().empty()) return nodes;
  const double noise = repeat_noise(run.trials, kPriorNoise);
  add_others(measured_settings(run, noise), nodes);
  for (std::size_t i = 1; i < nodes.size(); ++i) describe(run, noise, nodes[i]);
  return nodes;
}

namespace {

bool has_batches(const RecordedTable& table) {
  return std::find(table.columns.begin(), table.columns.end(), "batch") != table.columns.end();
}

std::vector<Measured> measured_settings(const RecordedTable& table) {
  std::vector<Measured> all;
  for (const TableRow& row : table.rows) {
    if (row.outcome != Outcome::ok || row.samples_per_second <= 0) continue;
    all.push_back({row.knobs, {row.samples_per_second}, row.peak_bytes, {}, {}});
    if (!has_batches(table)) all.back().knobs.absent.insert("batch");
  }
  return all;
}

void describe(const RecordedTable& table, const std::string& name, NodeMeasurement& node) {
  node.table = name;
  std::vector<double> noises;
  for (const TableRow& row : table.rows) {
    if (row.outcome == Outcome::ok) noises.push_back(row.noise_sigma);
  }
  node.noise = std::max(kPriorNoise, median(noises));
  node.batched = has_batches(table);
  if (!node.batched) node.unit = "images";
  node.usable_cores = table.cores;
  node.memory_bytes = table.memory_bytes;
}

}  // namespace

Result<NodeMeasurement> measure_node(const RecordedTable& table, const std::string& name) {
  auto node = assemble(measured_settings(table), "table " + name);
  if (node) describe(table, name, *node);
  return node;
}

Result<std::vector<NodeMeasurement>> measure_settings(const RecordedTable& table,
                                                      const std::string& name) {
  auto first = OCRTUNE_TRY(measure_node(table, name));
  std::vector<NodeMeasurement> nodes = {std::move(first)};
  add_others(measured_settings(table), nodes);
  for (std::size_t i = 1; i < nodes.size(); ++i) describe(table, name, nodes[i]);
  return nodes;
}

QueueModel queue_of(const NodeMeasurement& node, double speed) {
  QueueModel model;
  model.servers = node.servers;
  model.batch = batch_of(node.knobs);
  model.service = measured_service(node.service);
  model.speed = speed * centre_of(node) / median(node.rates);
  model.alone_share = node.alone_share;
  return model;
}

}  // namespace ocrtune
