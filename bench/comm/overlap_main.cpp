// overlap_bench: training steps of ranks on this host, gradients averaged after backward or in
// parts between its layers, interleaved. Usage: overlap_bench [MODEL [RANKS [BATCH [WINDOWS
// [THREADS]]]]]
//
// Times of a step are the slowest rank's; the arms take turns in windows of a few steps.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"
#include "bench/comm/step_arms.h"
#include "core/comm/shm_comm.h"
#include "core/models/model.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

struct Setting {
  std::string model = "crnn-mv3";
  int ranks = 2, batch = 8, windows = 9, threads = 1;
};

constexpr std::size_t kArms[] = {0, 256 << 10, 1 << 20, 4 << 20, 25 << 20};

template <typename Value>
Value or_exit(Result<Value> value) {
  if (!value) {
    std::fprintf(stderr, "overlap_bench: %s\n", value.error().what.c_str());
    std::_Exit(1);
  }
  return std::move(*value);
}

void run_window(Arm& arm, const Batch& batch, int steps) {
  if (!arm.comm->barrier()) std::_Exit(1);
  const double start = steady_clock().now_seconds();
  const Status ran = take_steps(arm, batch, steps);
  if (!ran) or_exit(Result<int>(ran.error()));
  if (!arm.comm->barrier()) std::_Exit(1);
  arm.step_seconds.push_back((steady_clock().now_seconds() - start) / steps);
}

void run_rank(const Setting& setting, const std::vector<std::string>& segments, int rank) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int i = 0; i < setting.threads; ++i) {
    CPU_SET(static_cast<std::size_t>(rank * setting.threads + i), &cpus);
  }
  (void)::sched_setaffinity(0, sizeof cpus, &cpus);  // too few CPUs: ranks share them
  TrainerOptions options;
  options.model = setting.model;
  const ModelRow* model = find_model(setting.model);
  if (model != nullptr) options.height = model->height;
  if (model != nullptr) options.width = model->width;
  options.batch = setting.batch;
  options.threads = setting.threads;
  const Batch batch = drawn_batch(options, rank);
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < std::size(kArms); ++i) {
    ShmCommOptions shm;
    shm.segment = segments[i];
    shm.place = RankPlace{rank, setting.ranks, rank, setting.ranks, 0, 1};
    shm.threads = setting.threads;
    options.bucket_bytes = kArms[i];
    Arm arm;
    arm.comm = or_exit(make_shm_comm(shm));
    arm.trainer = or_exit(Trainer::create(options, *arm.comm));
    run_window(arm, batch, 2);
    arm.step_seconds.clear();
    arm.reduce_seconds.clear();
    arm.wait_seconds.clear();
    arms.push_back(std::move(arm));
  }
  constexpr int kSteps = 4;
  for (int window = 0; window < setting.windows; ++window) {
    for (Arm& arm : arms) run_window(arm, batch, kSteps);
  }
  if (rank != 0) return;
  std::printf("%s, %d ranks of %d threads, batch %d, %zu parameters\n", setting.model.c_str(),
              setting.ranks, setting.threads, setting.batch, arms[0].trainer->parameter_count());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    std::vector<double> gains;
    for (std::size_t w = 0; w < arms[i].step_seconds.size(); ++w) {
      gains.push_back(arms[0].step_seconds[w] / arms[i].step_seconds[w]);
    }
    std::printf("parts of %9zu B: step %8.2f ms, moving %6.2f ms, waiting %6.2f ms, %.3f times\n",
                kArms[i], 1e3 * median(arms[i].step_seconds), 1e3 * median(arms[i].reduce_seconds),
                1e3 * median(arms[i].wait_seconds), median(gains));
  }
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  ocrtune::Setting setting;
  if (argc > 1) setting.model = argv[1];
  int* const numbers[] = {&setting.ranks, &setting.batch, &setting.windows, &setting.threads};
  for (int i = 0; i + 2 < argc && i < 4; ++i) *numbers[i] = std::atoi(argv[i + 2]);
  std::vector<std::string> segments;
  for (std::size_t i = 0; i < std::size(ocrtune::kArms); ++i) {
    segments.push_back(ocrtune::new_segment_name());
  }
  for (int rank = 0; rank < setting.ranks; ++rank) {
    if (::fork() == 0) {
      ocrtune::run_rank(setting, segments, rank);
      std::fflush(stdout);
      ::_exit(0);
    }
  }
  int worst = 0;
  for (int status = 0; ::wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 1);
  for (const std::string& segment : segments) ocrtune::remove_segment(segment);
  return worst;
}
