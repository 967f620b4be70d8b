// What a sample is worth, by hand: trains one model at one batch size and prints the smoothed loss
// by samples, and the gradient noise by parts of its batches (tuner/models/gradient_noise.h has
// the use).
//
//   noise_truth LABELS MODEL BATCH RATE SEED SAMPLES WIDTH EVERY
//
// Each EVERYth step its batch goes through again in parts of 8 lines; for gradients as they are
// (0), divided by Adam's root (1) and by its square (2) it prints the estimates of |G|^2 and of
// tr(Sigma). bench/learning/noise_truth.py runs it and compares.
#include <omp.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/backends/backend_table.h"
#include "core/data/loader.h"
#include "core/graph/network.h"
#include "core/graph/optimizer.h"
#include "core/infer/initial_model.h"
#include "core/models/model.h"

using namespace ocrtune;

namespace {

constexpr int kPart = 8;  // lines

struct Powers {
  std::array<double, 3> square{};  // of norms, by the power of the preconditioner
};

struct Model {
  Graph graph;
  std::vector<float> parameters, statistics, gradients, first, second;
  AdamWState moments;
};

Powers norms(const Model& model, const std::vector<float>& gradients) {
  Powers powers;
  const double correction = 1 - std::pow(0.999, static_cast<double>(model.moments.steps));
  for (const Parameter& parameter : model.graph.parameters) {
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
      const double g = gradients[i];
      const double root = std::sqrt(model.second[i] / correction) + 1e-8;
      powers.square[0] += g * g;
      powers.square[1] += g * g / root;
      powers.square[2] += g * g / root / root;
    }
  }
  return powers;
}

Batch part_of(const Batch& batch, int first, int count) {
  Batch part;
  part.count = count;
  part.channels = batch.channels;
  part.height = batch.height;
  part.width = batch.width;
  const std::size_t floats = batch.images.size() / static_cast<std::size_t>(batch.count);
  const auto from = batch.images.begin() + static_cast<std::ptrdiff_t>(floats) * first;
  part.images.assign(from, from + static_cast<std::ptrdiff_t>(floats) * count);
  part.labels.assign(batch.labels.begin() + first, batch.labels.begin() + first + count);
  return part;
}

void print_noise(Model& model, Network& network, const Batch& batch, long samples) {
  const int parts = batch.count / kPart;
  if (parts < 2) return;
  std::vector<float> sum(model.gradients.size()), own(sum.size());
  Powers small;
  for (int p = 0; p < parts; ++p) {
    std::vector<float> statistics = model.statistics;
    if (!network.train(part_of(batch, p * kPart, kPart), model.parameters, statistics, own)) return;
    const Powers one = norms(model, own);
    for (int k = 0; k < 3; ++k) small.square[k] += one.square[k] / parts;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i] / static_cast<float>(parts);
  }
  const Powers big = norms(model, sum);
  std::printf("noise %ld", samples);
  for (int k = 0; k < 3; ++k) {
    const double b = kPart, all = static_cast<double>(kPart) * parts;
    std::printf(" %.6g %.6g", (all * big.square[k] - b * small.square[k]) / (all - b),
                (small.square[k] - big.square[k]) / (1 / b - 1 / all));
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  if (count != 9) return 2;
  omp_set_num_threads(1);
  LoaderOptions options;
  options.label_file = words[1];
  options.batch = std::atoi(words[3]);
  options.width = std::atoi(words[7]);
  options.seed = std::strtoull(words[5], nullptr, 10);
  const double rate = std::atof(words[4]);
  const long samples = std::atol(words[6]), every = std::atol(words[8]);
  auto loader = Loader::create(options);
  auto backend = make_backend({"onednn", "fp32"});
  if (!loader || !backend) return 1;
  Model model;
  model.graph = find_model(words[2])->build(static_cast<int>((*loader)->alphabet().size()) + 1);
  const std::size_t floats = model.graph.parameter_floats;
  model.parameters.resize(floats), model.gradients.resize(floats);
  model.first.resize(floats), model.second.resize(floats);
  model.statistics.resize(model.graph.statistic_floats);
  model.moments = {model.first, model.second, 0};
  if (!fill_initial_weights(words[2], options.height, model.graph, options.seed,
                            model.parameters.data(), model.statistics.data())) {
    return 1;
  }
  Network network(model.graph, **backend);
  long seen = 0;
  for (long step = 0; seen < samples; ++step) {
    auto batch = (*loader)->next();
    if (!batch) return 1;
    if (step >= 2 && every > 0 && step % every == 0) print_noise(model, network, *batch, seen);
    const auto loss = network.train(*batch, model.parameters, model.statistics, model.gradients);
    if (!loss) return 1;
    seen += batch->count;
    std::printf("loss %ld %.5f\n", seen, loss->mean);
    AdamW settings;
    settings.learning_rate = rate;
    update_parameters(settings, model.graph, model.gradients, model.moments, model.parameters);
  }
  return 0;
}
