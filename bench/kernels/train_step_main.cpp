// train_step: steps of the training core, or with --infer passes of the folded form, on a synthetic
// batch, timed in windows.
//
// Each line on standard input asks for one window of that many seconds and is answered with one
// JSON line, so that bench/frameworks/compare_torch.py can interleave it with another program. With
// --windows it needs no input.
#include <omp.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/files.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/kernels/flops.h"
#include "core/backends/backend_table.h"
#include "core/comm/comm.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/models/model.h"
#include "core/train/trainer.h"

namespace {

using ocrtune::Batch;
using ocrtune::Trainer;
using ocrtune::TrainerOptions;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Pixels uniform in [-1, 1), then labels; tests/support/torch_models.py draws the same.
Batch draw_batch(const TrainerOptions& options, int label_length) {
  ocrtune::Random random(99);
  return ocrtune::noise_batch({options.batch, options.height, options.width}, random, label_length,
                              options.classes);
}

// One step: its loss.
using Step = std::function<ocrtune::Result<double>()>;

// The folded form with seeded weights.
struct Inference {
  ocrtune::Graph trained;
  ocrtune::InferenceForm form;
  std::unique_ptr<ocrtune::Backend> backend;
  std::unique_ptr<ocrtune::Network> network;
  std::vector<float> parameters, statistics;

  ocrtune::Status prepare(const TrainerOptions& options) {
    const ocrtune::ModelRow* model = ocrtune::find_model(options.model);
    if (model == nullptr) return ocrtune::Error{ocrtune::ErrorKind::usage, "no such model"};
    omp_set_num_threads(options.threads);
    backend = OCRTUNE_TRY(ocrtune::make_backend({options.backend, options.precision}));
    trained = model->build(options.classes);
    form = ocrtune::make_inference_form(trained, true);
    std::vector<float> before(trained.parameter_floats), moving(trained.statistic_floats);
    ocrtune::fill_initial_parameters(trained, options.seed, before.data());
    ocrtune::fill_initial_statistics(trained, moving.data());
    parameters.resize(form.graph.parameter_floats);
    statistics.resize(form.graph.statistic_floats);
    ocrtune::fold_parameters(form, trained, before.data(), moving.data(), parameters.data(),
                             statistics.data());
    network = std::make_unique<ocrtune::Network>(form.graph, *backend);
    network->fix_parameters();
    return ocrtune::Status();
  }
  ocrtune::Result<double> run(const Batch& batch) {
    const auto logits = OCRTUNE_TRY(network->infer(batch, parameters, statistics));
    return static_cast<double>(logits[0]);
  }
};

struct WindowReport {
  int count = 1;                  // samples of a step
  double step_flops = 0;          // arithmetic of a step, see bench/kernels/flops.h
  std::uint64_t start_bytes = 0;  // resident before anything was made
};

// A row of /proc/self/status ("VmRSS:", "VmHWM:") in bytes; 0: unknown.
std::uint64_t own_memory(const std::string& row) {
  const auto status = ocrtune::read_file("/proc/self/status", 1 << 16);
  const std::size_t at = status ? status->find(row) : std::string::npos;
  return at == std::string::npos ? 0
                                 : std::strtoull(&(*status)[at + row.size()], nullptr, 10) << 10;
}

bool run_window(const Step& step, const WindowReport& report, double seconds) {
  const double start = now_seconds();
  int steps = 0;
  double loss = 0;
  while (steps == 0 || now_seconds() - start < seconds) {
    const auto found = step();
    if (!found) {
      fmt::print(stderr, "train_step: {}\n", found.error().what);
      return false;
    }
    if (steps == 0) loss = *found;
    ++steps;
  }
  const double elapsed = now_seconds() - start;
  fmt::print(
      "{{\"steps\": {}, \"seconds\": {:.6f}, \"samples_per_second\": {:.3f}, "
      "\"gflop_per_second\": {:.2f}, \"first_loss\": {:.9g}, \"start_bytes\": {}, "
      "\"peak_bytes\": {}}}\n",
      steps, elapsed, steps * report.count / elapsed, steps * report.step_flops / elapsed * 1e-9,
      loss, report.start_bytes, own_memory("VmHWM:"));
  std::fflush(stdout);
  return true;
}

// `windows` of them, or one for each line of standard input.
int run_windows(const Step& step, const WindowReport& report, int windows, double seconds) {
  for (int i = 0; i < windows; ++i) {
    if (!run_window(step, report, seconds)) return 3;
  }
  std::string line;
  while (windows == 0 && std::getline(std::cin, line)) {
    const auto asked = ocrtune::parse_number(ocrtune::trim(line));
    if (!asked || !run_window(step, report, *asked)) return 2;
  }
  return 0;
}

double flops_of(const TrainerOptions& options) {
  const ocrtune::ModelRow* model = ocrtune::find_model(options.model);
  if (model == nullptr) return 0;
  const auto flops = ocrtune::forward_flops(model->build(options.classes),
                                            {options.batch, 3, options.height, options.width});
  return flops ? *flops : 0;
}

}  // namespace

int main(int argc, char** argv) {
  TrainerOptions options;
  int label_length = 10, windows = 0;
  double window_seconds = 1;
  CLI::App app("Times training steps on a synthetic batch; one JSON line for each window.");
  app.add_option("--model", options.model);
  app.add_option("--backend", options.backend);
  app.add_option("--precision", options.precision);
  app.add_option("--batch", options.batch);
  app.add_option("--threads", options.threads);
  app.add_option("--height", options.height, "0: the model's own");
  app.add_option("--width", options.width, "0: the model's own");
  app.add_option("--classes", options.classes);
  app.add_option("--learning-rate", options.learning_rate);
  app.add_option("--label-length", label_length);
  app.add_option("--windows", windows, "0: a window for each line of standard input");
  app.add_option("--window-seconds", window_seconds);
  bool infers = false;
  app.add_flag("--infer", infers, "Passes of the folded form; first_loss is then a logit");
  options.height = options.width = 0;
  CLI11_PARSE(app, argc, argv);
  if (const ocrtune::ModelRow* model = ocrtune::find_model(options.model)) {
    if (options.height == 0) options.height = model->height;
    if (options.width == 0) options.width = model->width;
  }

  const std::uint64_t start_bytes = own_memory("VmRSS:");
  const Batch batch = draw_batch(options, label_length);
  if (infers) {
    Inference inference;
    if (const auto ready = inference.prepare(options); !ready) {
      fmt::print(stderr, "train_step: {}\n", ready.error().what);
      return 2;
    }
    const auto flops = ocrtune::forward_flops(inference.form.graph,
                                              {options.batch, 3, options.height, options.width});
    return run_windows([&] { return inference.run(batch); },
                       {options.batch, flops ? *flops : 0, start_bytes}, windows, window_seconds);
  }
  const auto comm = ocrtune::make_single_comm();
  const auto trainer = Trainer::create(options, *comm);
  if (!trainer) {
    fmt::print(stderr, "train_step: {}\n", trainer.error().what);
    return 2;
  }
  const auto step = [&]() -> ocrtune::Result<double> {
    const auto report = OCRTUNE_TRY((*trainer)->step(batch));
    return report.loss;
  };
  return run_windows(step, {options.batch, 3 * flops_of(options), start_bytes}, windows,
                     window_seconds);
}
