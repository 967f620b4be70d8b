#include "bench/synthetic/synthetic_machine.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"
#include "bench/synthetic/synthetic_surface.h"

namespace ocrtune {
namespace {

struct Axes {
  std::vector<int> processes, threads, batches, workers;
  std::vector<std::string> precisions = {"fp32"};
  std::vector<std::string> bindings = {"none"};
};

std::vector<int> up_to(int most, std::initializer_list<int> values) {
  std::vector<int> kept;
  for (int value : values) {
    if (value <= most) kept.push_back(value);
  }
  return kept;
}

Axes small_axes(int cores) {
  Axes axes;
  axes.processes = up_to(2 * cores, {1, 2, 3, 4, 8});
  axes.threads = up_to(cores, {1, 2, 3, 4});
  axes.batches = {8, 16, 32, 64};
  axes.workers = {0, 1, 2};
  return axes;
}

Axes large_axes(int cores, int sockets, Random& random) {
  Axes axes;
  axes.processes = up_to(cores, {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256});
  axes.threads = axes.processes;
  axes.batches = {4, 8, 16, 32, 64, 128};
  axes.workers = {0, 1, 2, 4};
  if (cores <= 32) axes.batches = {2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
  if (cores <= 16) axes.workers = {0, 1, 2, 3, 4, 6};
  axes.precisions = {"fp32", "bf16"};
  axes.bindings = {"none", "compact"};
  if (cores <= 32 || random.uniform() < 0.3) axes.bindings.emplace_back("spread");
  if (cores > 64) axes.bindings = {"none", sockets > 1 ? "numa" : "compact"};
  if (cores > 64) axes.workers = {0, 1, 4};
  return axes;
}

// Few values at a time are dropped until the product is of the size of a real space.
std::vector<Knobs> grid(const Axes& axes, int cores, Random& random, std::size_t most) {
  std::vector<std::pair<int, int>> teams;
  for (int n : axes.processes) {
    for (int t : axes.threads) {
      if (n * t <= 2 * cores) teams.emplace_back(n, t);
    }
  }
  const std::size_t others =
      axes.batches.size() * axes.workers.size() * axes.precisions.size() * axes.bindings.size();
  while (teams.size() * others > most && teams.size() > 8) {
    const auto drop = random.integer(1, static_cast<std::int64_t>(teams.size()) - 1);
    teams.erase(teams.begin() + drop);
  }
  std::vector<Knobs> points;
  for (const auto& [n, t] : teams) {
    for (int b : axes.batches) {
      for (int w : axes.workers) {
        for (const std::string& precision : axes.precisions) {
          for (const std::string& binding : axes.bindings) {
            Knobs knobs;
            knobs.nproc = n;
            knobs.threads = t;
            knobs.batch = b;
            knobs.workers = w;
            knobs.precision = precision;
            knobs.binding = binding;
            points.push_back(std::move(knobs));
          }
        }
      }
    }
  }
  return points;
}

Surface surface_of(const std::string& kind, const SurfaceRequest& request) {
  if (kind == "queue") return make_queue_surface(request);
  if (kind == "field") return make_field_surface(request);
  if (kind == "mechanism") return make_mechanism_surface(request);
  return make_formula_surface(request);
}

// A limit that leaves out the heaviest part of the settings; a third of the machines have plenty.
double memory_limit(const std::vector<double>& peaks, Random& random) {
  const double kept = random.uniform() < 0.33 ? 1.0 : random.uniform(0.6, 0.97);
  const double limit = quantile(peaks, kept) * (kept == 1.0 ? random.uniform(1.05, 3) : 1.0);
  return std::max(limit, 2 * quantile(peaks, 0.0));
}

// Processes x threads up to the cores and a little beyond; bound ranks only where they fit.
std::vector<Knobs> mechanism_grid(int cores) {
  std::vector<Knobs> points;
  for (const int n : up_to(2 * cores, {1, 2, 3, 4, 6, 8, 12, 16, 24, 32})) {
    for (const int t : up_to(cores, {1, 2, 4, 8, 16, 32})) {
      if (n * t > cores && !(n * t == 2 * cores && (t == 1 || t == 2))) continue;
      for (const int b : {4, 8, 16, 32, 64, 128}) {
        for (const int w : {0, 1, 2, 4}) {
          for (const char* binding : {"none", "compact"}) {
            if (binding[0] == 'c' && n * t > cores) continue;
            if (w > 1 && n * w > 2 * cores) continue;
            Knobs knobs;
            knobs.nproc = n;
            knobs.threads = t;
            knobs.batch = b;
            knobs.workers = w;
            knobs.binding = binding;
            points.push_back(std::move(knobs));
          }
        }
      }
    }
  }
  return points;
}

// Half of the machines are tight: the lightest setting already takes 30 to 85 % of the limit.
double mechanism_limit(const std::vector<double>& peaks, Random& random) {
  const double lightest = quantile(peaks, 0.0);
  if (random.uniform() < 0.5) return lightest / random.uniform(0.3, 0.85);
  return std::max(quantile(peaks, random.uniform(0.3, 1.0)), 1.2 * lightest);
}

SyntheticMachine mechanism_machine(const SyntheticRequest& request) {
  Random random(mix_bits(request.seed * 7000003 + 11));
  static const std::vector<int> kCores = {2, 4, 8, 16, 32};
  const auto most = static_cast<std::int64_t>(kCores.size()) - 1;
  const int cores = kCores[static_cast<std::size_t>(random.integer(0, request.small ? 1 : most))];
  const Surface surface = make_mechanism_surface({cores, 1, random.fork(1), request.other_model});
  const double rough = request.roughness * random.uniform(0.002, 0.02);
  const double noise = request.noise * std::exp(random.uniform(std::log(0.005), std::log(0.29)));
  const std::uint64_t seed = random.next();
  SyntheticMachine machine;
  machine.table.cores = cores;
  std::vector<double> peaks;
  for (const Knobs& knobs : mechanism_grid(cores)) {
    const SurfacePoint truth = surface(knobs);
    TableRow row;
    row.knobs = knobs;
    row.samples_per_second = truth.samples_per_second * frozen_factor(knobs, seed, rough);
    row.peak_bytes =
        static_cast<std::uint64_t>(truth.peak_bytes * frozen_factor(knobs, seed + 1, 0.01));
    row.noise_sigma = noise;
    row.cause = truth.ends_by;
    peaks.push_back(static_cast<double>(row.peak_bytes));
    machine.table.rows.push_back(std::move(row));
  }
  const double limit = mechanism_limit(peaks, random);
  machine.table.memory_bytes = static_cast<std::uint64_t>(limit);
  for (TableRow& row : machine.table.rows) {
    const bool too_big = static_cast<double>(row.peak_bytes) > limit;
    if (!too_big && row.cause.empty()) continue;
    if (too_big) row.cause.clear();  // memory ends it while it starts
    const bool memory = too_big || row.cause == "shm_full" || row.cause == "host_allocation_failed";
    row.outcome = memory ? Outcome::out_of_memory : Outcome::crashed;
    row.samples_per_second = 0;
    row.peak_bytes = too_big ? machine.table.memory_bytes : row.peak_bytes;
  }
  machine.faults.drift = random.uniform(0, 0.04);
  machine.faults.outlier_share = 0.03;
  machine.faults.outlier_loss = 0.5;
  return machine;
}

}  // namespace

double frozen_factor(const Knobs& knobs, std::uint64_t seed, double sigma) {
  std::uint64_t hash = mix_bits(seed);
  for (const auto& [name, text] : knob_texts(knobs)) {
    for (const char c : name + "=" + text) {
      hash = mix_bits(hash ^ static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    }
  }
  Random random(hash);
  return std::exp(sigma * random.normal());
}

const std::vector<std::string>& synthetic_kinds() {
  static const std::vector<std::string> kKinds = {"formula", "queue", "field", "mechanism"};
  return kKinds;
}

SyntheticMachine make_synthetic_machine(const SyntheticRequest& request) {
  if (request.kind == "mechanism") return mechanism_machine(request);
  Random random(mix_bits(request.seed * 1000003 + request.kind.size()));
  static const std::vector<int> kCores = {16, 24, 32, 48, 64, 96, 128, 256};
  const auto pick = static_cast<std::size_t>(random.integer(0, 7));
  const int cores = request.small ? static_cast<int>(random.integer(2, 4)) : kCores[pick];
  const int sockets = cores >= 48 && random.uniform() < 0.5 ? 2 : 1;
  const Axes axes = request.small ? small_axes(cores) : large_axes(cores, sockets, random);
  const std::vector<Knobs> points = grid(axes, cores, random, request.small ? 150 : 4800);
  const Surface surface = surface_of(request.kind, {cores, sockets, random.fork(1)});

  SyntheticMachine machine;
  machine.table.cores = cores;
  const double rough = request.roughness * random.uniform(0.005, 0.025);
  const double noise = request.noise * std::exp(random.uniform(std::log(0.01), std::log(0.05)));
  const std::uint64_t seed = random.next();
  std::vector<double> peaks;
  for (const Knobs& knobs : points) {
    const SurfacePoint truth = surface(knobs);
    TableRow row;
    row.knobs = knobs;
    row.samples_per_second = truth.samples_per_second * frozen_factor(knobs, seed, rough);
    const double peak = truth.peak_bytes * frozen_factor(knobs, seed + 1, 0.01);
    row.peak_bytes = static_cast<std::uint64_t>(peak);
    row.noise_sigma = noise;
    peaks.push_back(peak);
    machine.table.rows.push_back(std::move(row));
  }
  const double limit = memory_limit(peaks, random);
  machine.table.memory_bytes = static_cast<std::uint64_t>(limit);
  if (random.uniform() < 0.3 && !request.small) {
    machine.process_cap = static_cast<int>(random.integer(std::max(4, cores / 8), cores));
  }
  for (TableRow& row : machine.table.rows) {
    const bool too_big = static_cast<double>(row.peak_bytes) > limit;
    const bool capped = machine.process_cap > 0 && row.knobs.nproc > machine.process_cap;
    if (!too_big && !capped) continue;
    row.outcome = too_big ? Outcome::out_of_memory : Outcome::crashed;
    row.samples_per_second = 0;
    row.peak_bytes = too_big ? machine.table.memory_bytes : 0;
  }
  machine.faults.drift = random.uniform(0, 0.04);
  machine.faults.outlier_share = 0.03;
  machine.faults.outlier_loss = 0.5;
  return machine;
}

std::string table_csv(const RecordedTable& table) {
  std::string csv;
  if (table.cores > 0 || table.memory_bytes > 0 || table.gpus > 0) {
    csv += "#";
    if (table.cores > 0) csv += fmt::format(" cores={:g}", table.cores);
    if (table.memory_bytes > 0) csv += fmt::format(" memory_bytes={}", table.memory_bytes);
    if (table.gpus > 0) csv += fmt::format(" gpus={}", table.gpus);
    csv += "\n";
  }
  // These three always, as in knob_texts(); then what any row sets.
  std::vector<std::string> names = {"nproc", "threads", "batch"};
  std::set<std::string> more;
  for (const TableRow& row : table.rows) {
    for (const auto& [name, value] : knob_texts(row.knobs)) more.insert(name);
  }
  for (const std::string& name : names) more.erase(name);
  names.insert(names.end(), more.begin(), more.end());
  const bool causes = std::any_of(table.rows.begin(), table.rows.end(),
                                  [](const TableRow& row) { return !row.cause.empty(); });
  csv += join(names, ",") + ",samples_per_second,peak_bytes,outcome,noise_sigma";
  csv += causes ? ",cause\n" : "\n";
  for (const TableRow& row : table.rows) {
    for (const std::string& name : names) csv += knob_text(row.knobs, name) + ",";
    csv += fmt::format("{:.6g},{},{},{:g}", row.samples_per_second, row.peak_bytes,
                       outcome_name(row.outcome), row.noise_sigma);
    csv += causes ? "," + row.cause + "\n" : "\n";
  }
  return csv;
}

}  // namespace ocrtune
