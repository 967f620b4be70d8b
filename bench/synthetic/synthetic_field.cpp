// No machine at all: a random curve along every axis, random pairs that interact, waves that nobody
// could name, and one bend where processes x threads fill the cores.
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/synthetic/synthetic_surface.h"

namespace ocrtune {
namespace {

constexpr int kKnots = 9;  // one per doubling, 1 to 256

struct Curve {  // piecewise linear over log2
  std::array<double, kKnots> at{};

  double value(double x) const {
    const double place = std::min(std::max(x, 0.0), kKnots - 1.001);
    const auto left = static_cast<std::size_t>(place);
    return at[left] + (place - static_cast<double>(left)) * (at[left + 1] - at[left]);
  }
};

// Gains that shrink and may turn into losses.
Curve rising_curve(Random& random, double first_gain) {
  Curve curve;
  double gain = first_gain * random.uniform(0.4, 1.2);
  const double decay = random.uniform(0.4, 0.95);
  const double loss = random.uniform(0.0, 0.08);
  for (std::size_t i = 1; i < kKnots; ++i) {
    curve.at[i] = curve.at[i - 1] + gain + 0.15 * gain * random.normal();
    gain = gain * decay - loss;
  }
  return curve;
}

struct Wave {
  std::array<double, 4> frequency{};
  double phase = 0;
  double height = 0;
};

struct Field {
  double cores_log = 4;
  Curve processes, threads, batch, workers, team, total_batch;
  std::vector<Wave> waves;
  std::map<std::string, double> words;
  double word_by_process = 0;
  double exponent_batch = 1, exponent_process = 1;
  double process_bytes = 0, sample_bytes = 0, worker_bytes = 0, half = 1;

  double log_rate(const Knobs& knobs) const {
    const double n = std::log2(knobs.nproc);
    const double t = std::log2(knobs.threads);
    const double b = std::log2(knobs.batch);
    const double w = std::log2(1.0 + knobs.workers);
    double value = processes.value(n) + threads.value(t) + batch.value(b) + workers.value(w);
    value += total_batch.value(0.6 * (n + b));
    const double past = n + t - cores_log;
    if (past > 0) value -= team.value(3 * past);
    for (const Wave& wave : waves) {
      value += wave.height * std::sin(wave.frequency[0] * n + wave.frequency[1] * t +
                                      wave.frequency[2] * b + wave.frequency[3] * w + wave.phase);
    }
    for (const std::string& word : {knobs.precision, knobs.binding}) {
      const auto found = words.find(word);
      if (found != words.end()) value += found->second * (1 + word_by_process * (n - 3));
    }
    return value;
  }

  double peak(const Knobs& knobs) const {
    const double sample = sample_bytes * (knobs.precision == "bf16" ? half : 1.0);
    return std::pow(knobs.nproc, exponent_process) *
           (process_bytes + sample * std::pow(knobs.batch, exponent_batch) +
            worker_bytes * knobs.workers);
  }
};

}  // namespace

Surface make_field_surface(SurfaceRequest request) {
  Random& random = request.random;
  Field field;
  field.cores_log = std::log2(request.cores);
  field.processes = rising_curve(random, 0.6);
  field.threads = rising_curve(random, 0.5);
  field.batch = rising_curve(random, 0.4);
  field.workers = rising_curve(random, random.uniform(-0.1, 0.3));
  field.total_batch = rising_curve(random, 0.05);
  field.team = rising_curve(random, 0.4);
  for (int i = 0; i < 6; ++i) {
    Wave wave;
    for (double& frequency : wave.frequency) frequency = 0.7 * random.normal();
    wave.phase = random.uniform(0, 6.28);
    wave.height = 0.06 * random.normal();
    field.waves.push_back(wave);
  }
  for (const char* word : {"bf16", "compact", "spread", "numa"}) {
    field.words[word] = 0.15 * random.normal();
  }
  field.word_by_process = 0.15 * random.normal();
  field.exponent_batch = random.uniform(0.9, 1.1);
  field.exponent_process = random.uniform(0.92, 1.0);
  field.process_bytes = std::exp(random.uniform(std::log(2e8), std::log(1.2e9)));
  field.sample_bytes = std::exp(random.uniform(std::log(2e6), std::log(4e7)));
  field.worker_bytes = field.process_bytes * random.uniform(0.05, 0.5);
  field.half = random.uniform(0.5, 1.0);
  const double scale = std::exp(random.uniform(2, 6));
  return [field, scale](const Knobs& knobs) {
    return SurfacePoint{scale * std::exp(field.log_rate(knobs)), field.peak(knobs)};
  };
}

}  // namespace ocrtune
