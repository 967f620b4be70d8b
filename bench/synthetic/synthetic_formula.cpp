// Scaling laws multiplied together: Amdahl in threads, contention and coherence in processes,
// saturation in the batch, a bandwidth ceiling, and loaders that take cores from the compute.
#include <algorithm>
#include <cmath>

#include "bench/synthetic/synthetic_surface.h"

namespace ocrtune {
namespace {

double log_uniform(Random& random, double low, double high) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

struct FormulaMachine {
  int cores = 16;
  int sockets = 1;
  double step_seconds = 0;       // fixed cost of a step
  double sample_seconds = 0;     // of one thread
  double serial = 0;             // Amdahl
  double contention = 0;         // USL sigma, per process
  double coherence = 0;          // USL kappa
  double oversubscribed = 1;     // exponent of n t / cores
  double smt_gain = 0;           // extra speed from the second thread of a core
  double load_seconds = 0;       // one loader, one sample
  double worker_share = 0;       // of a core that a busy loader takes away
  double bandwidth_ceiling = 0;  // samples per second of the whole machine
  double cache_batch = 0;        // batch beyond which activations leave the cache
  double cache_penalty = 0;
  double reduce_seconds = 0;
  double bf16 = 1;  // factor on sample_seconds
  double compact = 1, spread = 1, numa = 1;
  double base_bytes = 0, process_bytes = 0, sample_bytes = 0, worker_bytes = 0, thread_bytes = 0;

  double binding_factor(const Knobs& knobs) const {
    const double width = std::min(1.0, knobs.threads / static_cast<double>(cores));
    if (knobs.binding == "compact") return std::pow(compact, 1 - width);
    if (knobs.binding == "spread") return std::pow(spread, 1 - width);
    if (knobs.binding == "numa") return sockets > 1 ? numa : 1.0;
    return 1.0;
  }

  double rate(const Knobs& knobs) const {
    const double n = knobs.nproc;
    const double b = knobs.batch;
    const double w = knobs.workers;
    const bool half = knobs.precision == "bf16";
    const double loaders_busy = std::min(1.0, 0.2 + w / 6) * worker_share * n * w;
    const double wanted = n * knobs.threads + loaders_busy;
    const double load = wanted / cores;
    const double smt = load > 1 ? 1 + smt_gain * std::min(1.0, load - 1) : 1.0;
    const double crowd = load > 1 ? std::pow(load, oversubscribed) / smt : 1.0;
    const double amdahl = serial + (1 - serial) / knobs.threads;
    const double usl = 1 + contention * (n - 1) + coherence * n * (n - 1);
    const double spill = 1 + cache_penalty / (1 + std::pow(cache_batch / b, 3));
    const double each = sample_seconds * (half ? bf16 : 1.0) * spill;
    double compute = (step_seconds + each * b * amdahl) * usl * crowd;
    compute += n > 1 ? reduce_seconds * (1 + std::log2(n)) : 0.0;
    const double loading = load_seconds * b * std::max(1.0, load);
    const double step = knobs.workers == 0 ? compute + loading
                                           : std::max(compute, loading / w) + 0.05 * loading / w;
    const double free_rate = n * b / step;
    const double ceiling = bandwidth_ceiling * (half ? 1.6 : 1.0);
    return binding_factor(knobs) / std::pow(std::pow(free_rate, -4) + std::pow(ceiling, -4), 0.25);
  }

  double peak(const Knobs& knobs) const {
    const double sample = sample_bytes * (knobs.precision == "bf16" ? 0.6 : 1.0);
    return base_bytes + knobs.nproc * (process_bytes + sample * knobs.batch +
                                       worker_bytes * knobs.workers + thread_bytes * knobs.threads);
  }
};

}  // namespace

Surface make_formula_surface(SurfaceRequest request) {
  Random& random = request.random;
  FormulaMachine machine;
  machine.cores = request.cores;
  machine.sockets = request.sockets;
  machine.sample_seconds = log_uniform(random, 0.002, 0.05);
  machine.step_seconds = machine.sample_seconds * log_uniform(random, 0.3, 8);
  machine.serial = log_uniform(random, 0.01, 0.25);
  machine.contention = log_uniform(random, 0.001, 0.05) * 16 / request.cores;
  machine.coherence = log_uniform(random, 1e-5, 2e-3) * 256 / request.cores / request.cores * 4;
  machine.oversubscribed = random.uniform(1.0, 1.8);
  machine.smt_gain = random.uniform() < 0.5 ? random.uniform(0.05, 0.35) : 0.0;
  machine.load_seconds = machine.sample_seconds * log_uniform(random, 0.02, 1.0);
  machine.worker_share = random.uniform(0.1, 0.9);
  machine.bandwidth_ceiling =
      request.cores / machine.sample_seconds * log_uniform(random, 0.35, 4.0);
  machine.cache_batch = log_uniform(random, 8, 200);
  machine.cache_penalty = random.uniform() < 0.6 ? random.uniform(0.05, 0.6) : 0.0;
  machine.reduce_seconds = machine.sample_seconds * log_uniform(random, 0.02, 1.5);
  machine.bf16 = random.uniform(0.45, 1.15);
  machine.compact = random.uniform(0.9, 1.2);
  machine.spread = random.uniform(0.85, 1.15);
  machine.numa = random.uniform(0.95, 1.3);
  machine.process_bytes = log_uniform(random, 2e8, 1.2e9);
  machine.base_bytes = machine.process_bytes * random.uniform(0, 1);
  machine.sample_bytes = log_uniform(random, 2e6, 4e7);
  machine.worker_bytes = machine.process_bytes * random.uniform(0.05, 0.5);
  machine.thread_bytes = random.uniform(0, 1e7);
  return [machine](const Knobs& knobs) {
    return SurfacePoint{machine.rate(knobs), machine.peak(knobs)};
  };
}

}  // namespace ocrtune
