// Cores, caches, memory channels and loader queues played through step by step.
//
// Nothing here is a scaling law. A step is a row of fork-join phases; a phase is a number of chunks
// dealt to threads, so uneven deals cost whole chunks; chunks run at the speed of a core that
// shares its pipeline, its socket's clock and its socket's memory channels with what else runs
// there. Loaders feed a bounded queue; a step starts when its batch is there and the slowest rank
// is done.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "bench/synthetic/synthetic_surface.h"

namespace ocrtune {
namespace {

double log_uniform(Random& random, double low, double high) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

struct Phase {
  double work = 0;             // core-seconds a sample at full clock
  double traffic = 0;          // bytes a sample when nothing stays in cache
  double chunks_a_sample = 1;  // parallel pieces a sample is cut into
  double serial = 0;           // core-seconds before the fork
};

struct QueueMachine {
  int cores = 16;  // physical, all sockets
  int sockets = 1;
  bool smt = false;
  double smt_speed = 0.6;        // of each of two threads that share a core
  double turbo = 1.3;            // clock of a lone core against all busy
  double channel_bytes = 1e11;   // per second and socket
  double cache_bytes = 3e7;      // last level, per socket
  double remote_slowdown = 1.3;  // of memory traffic that crosses sockets
  double switch_seconds = 5e-5;  // of an oversubscribed barrier, per extra thread on the core
  double fork_seconds = 5e-6;
  double weight_bytes = 4e7, activation_bytes = 2e6;  // activations a sample
  std::vector<Phase> phases;
  double load_seconds = 0.002;  // a sample, one loader
  double disk_rate = 1e9;       // samples per second of the whole machine
  double jitter = 0.03;         // of a rank's step
  double half_work = 0.6;       // bf16
  double half_bytes = 0.55;
  double interpreter_bytes = 3e8, loader_bytes = 1e8, arena_bytes = 2e7;
  std::uint64_t seed = 1;
};

// Who runs where while all ranks compute.
struct Load {
  double busy = 1;        // runnable threads per hardware thread, at least 1
  double core_speed = 1;  // of one thread, sharing and clock included
  double crossing = 0;    // share of memory traffic that goes to the other socket
  double threads_a_socket = 1;
};

Load load_of(const QueueMachine& machine, const Knobs& knobs, double loader_threads) {
  Load load;
  const double hardware = machine.cores * (machine.smt ? 2.0 : 1.0);
  const double runnable = static_cast<double>(knobs.nproc) * knobs.threads + loader_threads;
  const double active = std::min(runnable, static_cast<double>(machine.cores));
  load.busy = std::max(1.0, runnable / hardware);
  const double clock = machine.turbo - (machine.turbo - 1) * std::sqrt(active / machine.cores);
  double doubled = std::clamp((runnable - machine.cores) / machine.cores, 0.0, 1.0);
  if (!machine.smt) doubled = 0;
  if (machine.smt && knobs.binding == "compact" && runnable < machine.cores) doubled = 0.5;
  load.core_speed = clock * (1 - doubled + doubled * machine.smt_speed);
  const double per_socket = static_cast<double>(machine.cores) / machine.sockets;
  const bool pinned = knobs.binding == "compact" || knobs.binding == "numa";
  if (machine.sockets > 1) {
    if (!pinned) load.crossing = knobs.binding == "spread" ? 0.5 : 0.3;
    if (pinned && knobs.threads > per_socket) load.crossing = 0.5;
  }
  // Few pinned ranks leave a socket idle: its channels are not used.
  const double used =
      pinned && runnable <= per_socket * (machine.sockets - 1) ? 1.0 : machine.sockets;
  load.threads_a_socket = runnable / used;
  return load;
}

double phase_seconds(const QueueMachine& machine, const Knobs& knobs, const Load& load,
                     const Phase& phase) {
  const bool half = knobs.precision == "bf16";
  const double b = knobs.batch;
  const double t = knobs.threads;
  const double chunks = std::max(1.0, std::floor(b * phase.chunks_a_sample));
  const double deals = std::ceil(chunks / t);  // rounds of the busiest thread
  const double work = phase.work * (half ? machine.half_work : 1.0) * b / chunks;
  // The part of the working set that the cache cannot hold goes over the channels.
  const double ranks_a_socket = std::max(1.0, load.threads_a_socket / t);
  const double set = ranks_a_socket * (0.2 * machine.weight_bytes +
                                       b * machine.activation_bytes * (half ? 0.5 : 1.0) / 6);
  const double missed = std::clamp(1 - machine.cache_bytes / set, 0.08, 1.0);
  const double bytes = phase.traffic * (half ? machine.half_bytes : 1.0) * b / chunks * missed;
  const double sharing = std::min(load.threads_a_socket, machine.cores * load.busy);
  const double channel = machine.channel_bytes / std::max(1.0, sharing);
  const double slow = 1 + load.crossing * (machine.remote_slowdown - 1);
  const double compute = work / load.core_speed;
  const double memory = std::min(bytes * slow / channel, bytes * slow / 4e9 + compute * 20);
  const double chunk = std::max(compute, memory) + 0.3 * std::min(compute, memory);
  double seconds = phase.serial / load.core_speed + deals * chunk * load.busy;
  if (t > 1) {
    seconds += machine.fork_seconds * (1 + std::log2(t));
    // A barrier waits for threads that are not running.
    if (load.busy > 1) seconds += machine.switch_seconds * (load.busy - 1) * std::sqrt(t) * 4;
  }
  return seconds;
}

double reduce_seconds(const QueueMachine& machine, const Knobs& knobs, const Load& load) {
  const double n = knobs.nproc;
  if (n < 2) return 0;
  const double bytes = 2 * (n - 1) / n * machine.weight_bytes * 3;
  const double all = bytes * n / (machine.channel_bytes * machine.sockets);
  const double slow = 1 + load.crossing * (machine.remote_slowdown - 1);
  return all * slow + machine.fork_seconds * 3 * n * load.busy;
}

// Plays loaders and steps through a queue of two batches for each loader; gives seconds per step.
double played_step(const QueueMachine& machine, const Knobs& knobs, double compute, double load,
                   Random& random) {
  constexpr int kSteps = 24;
  const int w = knobs.workers;
  const double straggle = 1 + machine.jitter * std::sqrt(2 * std::log(std::max(1, knobs.nproc)));
  if (w == 0) return compute * straggle + load;
  std::array<double, kSteps> taken{};
  std::vector<double> free_at(static_cast<std::size_t>(w), 0.0);
  double now = 0;
  double start = 0;
  for (int step = 0; step < kSteps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    double& worker = free_at[static_cast<std::size_t>(step % w)];
    const int room = step - 2 * w;  // the slot is free once that batch was taken
    const double may_start = room >= 0 ? taken[static_cast<std::size_t>(room)] : 0.0;
    worker = std::max(worker, may_start) + load * (1 + 0.2 * random.normal());
    now = std::max(now, worker);
    taken[at] = now;
    now += compute * straggle * (1 + 0.3 * machine.jitter * random.normal());
    if (step == kSteps / 3) start = now;
  }
  constexpr int kMeasured = kSteps - 1 - kSteps / 3;
  return (now - start) / kMeasured;
}

double rate(const QueueMachine& machine, const Knobs& knobs) {
  const double n = knobs.nproc;
  const double b = knobs.batch;
  double loader_threads = 0;
  double step = 0;
  // Loaders are as busy as steps ask for; steps are as slow as loaders leave them cores.
  for (int pass = 0; pass < 3; ++pass) {
    const Load load = load_of(machine, knobs, loader_threads);
    double compute = reduce_seconds(machine, knobs, load);
    for (const Phase& phase : machine.phases) {
      compute += phase_seconds(machine, knobs, load, phase);
    }
    double seconds = machine.load_seconds * b * load.busy / load.core_speed;
    seconds = std::max(seconds, n * b * std::max(1, knobs.workers) / machine.disk_rate);
    Random random(machine.seed ^ 77);
    step = played_step(machine, knobs, compute, seconds, random);
    loader_threads = knobs.workers == 0 ? 0.0 : std::min(n * knobs.workers, n * seconds / step);
  }
  return n * b / step;
}

double peak(const QueueMachine& machine, const Knobs& knobs) {
  const bool half = knobs.precision == "bf16";
  const double activations = machine.activation_bytes * (half ? 0.55 : 1.0) * knobs.batch;
  // Allocators round large blocks up to the next eighth of a power of two.
  const double grain = std::exp2(std::floor(std::log2(activations)) - 3);
  const double rounded = std::ceil(activations / grain) * grain;
  const double queue = 2.0 * knobs.workers * knobs.batch * 32 * 320 * 3 * 4;
  const double rank = machine.interpreter_bytes + 4 * machine.weight_bytes + rounded +
                      machine.loader_bytes * knobs.workers + queue +
                      machine.arena_bytes * std::sqrt(knobs.threads);
  return 2e8 + knobs.nproc * rank + machine.weight_bytes;
}

}  // namespace

Surface make_queue_surface(SurfaceRequest request) {
  Random& random = request.random;
  QueueMachine machine;
  machine.cores = request.cores;
  machine.sockets = request.sockets;
  machine.smt = random.uniform() < 0.4;
  if (machine.smt) machine.cores = std::max(1, request.cores / 2);
  machine.smt_speed = random.uniform(0.52, 0.68);
  machine.turbo = random.uniform(1.0, 1.5);
  machine.channel_bytes = machine.cores * log_uniform(random, 2e9, 1.2e10) / machine.sockets;
  machine.cache_bytes = machine.cores * log_uniform(random, 1e6, 4e6) / machine.sockets;
  machine.remote_slowdown = random.uniform(1.2, 2.2);
  machine.switch_seconds = log_uniform(random, 1e-5, 1e-3);
  machine.fork_seconds = log_uniform(random, 3e-6, 6e-5);
  machine.weight_bytes = log_uniform(random, 1e7, 1.2e8);
  machine.activation_bytes = log_uniform(random, 2e6, 3e7);
  const int phases = static_cast<int>(random.integer(5, 14));
  for (int i = 0; i < phases; ++i) {
    Phase phase;
    phase.work = log_uniform(random, 1e-4, 4e-3);
    phase.traffic = phase.work * log_uniform(random, 2e8, 1.2e10);
    phase.chunks_a_sample = log_uniform(random, 0.5, 32);
    phase.serial = log_uniform(random, 5e-6, 6e-4);
    machine.phases.push_back(phase);
  }
  double work = 0;
  for (const Phase& phase : machine.phases) work += phase.work;
  machine.load_seconds = work * log_uniform(random, 0.02, 0.8);
  if (random.uniform() < 0.3) {
    machine.disk_rate = machine.cores / work * log_uniform(random, 0.3, 2);
  }
  machine.jitter = random.uniform(0.005, 0.08);
  machine.half_work = random.uniform(0.45, 1.2);
  machine.half_bytes = random.uniform(0.5, 0.8);
  machine.interpreter_bytes = log_uniform(random, 1.5e8, 9e8);
  machine.loader_bytes = machine.interpreter_bytes * random.uniform(0.05, 0.6);
  machine.arena_bytes = random.uniform(0, 4e7);
  machine.seed = random.next();
  return [machine](const Knobs& knobs) {
    return SurfacePoint{rate(machine, knobs), peak(machine, knobs)};
  };
}

}  // namespace ocrtune
