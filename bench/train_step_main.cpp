// train_step: steps of the training core on a synthetic batch, timed in windows.
//
// Each line on standard input asks for one window of that many seconds and is answered with one
// JSON line, so that bench/compare_torch.py can interleave it with another program. With
// --windows it needs no input.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/random.h"
#include "base/text.h"
#include "core/comm.h"
#include "core/model.h"
#include "core/trainer.h"

namespace {

using ocrtune::Batch;
using ocrtune::Trainer;
using ocrtune::TrainerOptions;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Pixels uniform in [-1, 1), then labels; tests/core/torch_models.py draws the same.
Batch draw_batch(const TrainerOptions& options, int label_length) {
  ocrtune::Random random(99);
  Batch batch;
  batch.count = options.batch;
  batch.height = options.height;
  batch.width = options.width;
  batch.images.resize(static_cast<std::size_t>(batch.count) * 3 *
                      static_cast<std::size_t>(batch.height) *
                      static_cast<std::size_t>(batch.width));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  for (int n = 0; n < batch.count; ++n) {
    std::vector<int> label(static_cast<std::size_t>(label_length));
    for (int& symbol : label) symbol = static_cast<int>(random.integer(1, options.classes - 1));
    batch.labels.push_back(std::move(label));
  }
  return batch;
}

bool run_window(Trainer& trainer, const Batch& batch, double seconds) {
  const double start = now_seconds();
  int steps = 0;
  double loss = 0;
  while (steps == 0 || now_seconds() - start < seconds) {
    const auto report = trainer.step(batch);
    if (!report) {
      fmt::print(stderr, "train_step: {}\n", report.error().what);
      return false;
    }
    if (steps == 0) loss = report->loss;
    ++steps;
  }
  const double elapsed = now_seconds() - start;
  fmt::print(
      "{{\"steps\": {}, \"seconds\": {:.6f}, \"samples_per_second\": {:.3f}, "
      "\"first_loss\": {:.9g}}}\n",
      steps, elapsed, steps * batch.count / elapsed, loss);
  std::fflush(stdout);
  return true;
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
  options.height = options.width = 0;
  CLI11_PARSE(app, argc, argv);
  if (const ocrtune::ModelRow* model = ocrtune::find_model(options.model)) {
    if (options.height == 0) options.height = model->height;
    if (options.width == 0) options.width = model->width;
  }

  const auto comm = ocrtune::make_single_comm();
  const auto trainer = Trainer::create(options, *comm);
  if (!trainer) {
    fmt::print(stderr, "train_step: {}\n", trainer.error().what);
    return 2;
  }
  const Batch batch = draw_batch(options, label_length);
  if (windows > 0) {
    for (int i = 0; i < windows; ++i) {
      if (!run_window(**trainer, batch, window_seconds)) return 3;
    }
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto seconds = ocrtune::parse_number(ocrtune::trim(line));
    if (!seconds || !run_window(**trainer, batch, *seconds)) return 2;
  }
  return 0;
}
