// mpi_bench: training steps of ranks that mpirun started, gradients averaged after backward or in
// parts between its layers, interleaved. Usage: mpirun -n RANKS mpi_bench [MODEL [BATCH [WINDOWS]]]
//
// Times are rank 0's: with the waiting for the others in it, nobody's step is shorter.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "bench/comm/step_arms.h"
#include "core/comm/mpi_comm.h"
#include "core/models/model.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

constexpr std::size_t kArms[] = {0, 256 << 10, 1 << 20, 4 << 20};
constexpr int kStepsOfWindow = 5;

template <typename Value>
Value or_exit(Result<Value> value) {
  if (!value) {
    std::fprintf(stderr, "mpi_bench: %s\n", value.error().what.c_str());
    std::exit(1);
  }
  return std::move(*value);
}

void run_window(Arm& arm, const Batch& batch) {
  const double start = steady_clock().now_seconds();
  const Status ran = take_steps(arm, batch, kStepsOfWindow);
  if (!ran) or_exit(Result<int>(ran.error()));
  arm.step_seconds.push_back((steady_clock().now_seconds() - start) / kStepsOfWindow);
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  using namespace ocrtune;
  TrainerOptions options;
  options.model = argc > 1 ? argv[1] : "crnn-mv3";
  options.batch = argc > 2 ? std::atoi(argv[2]) : 8;
  const int windows = argc > 3 ? std::atoi(argv[3]) : 9;
  if (const ModelRow* model = find_model(options.model)) {
    options.height = model->height;
    options.width = model->width;
  }
  std::vector<Arm> arms;
  for (const std::size_t bucket : kArms) {
    Arm& arm = arms.emplace_back();
    arm.comm = or_exit(make_mpi_comm({}));
    options.bucket_bytes = bucket;
    arm.trainer = or_exit(Trainer::create(options, *arm.comm));
  }
  const RankPlace place = arms[0].comm->place();
  const Batch batch = drawn_batch(options, place.rank);
  for (int window = -1; window < windows; ++window) {
    for (Arm& arm : arms) run_window(arm, batch);
  }
  for (std::size_t i = 0; i < arms.size() && place.rank == 0; ++i) {
    Arm& arm = arms[i];
    for (auto* samples : {&arm.step_seconds, &arm.reduce_seconds, &arm.wait_seconds}) {
      samples->erase(samples->begin());  // warm-up
    }
    std::printf(
        "%s, %d ranks on %d hosts, parts of %zu KiB: step %.2f ms, moving %.2f, waiting %.2f\n",
        options.model.c_str(), place.world_size, place.node_count, kArms[i] >> 10,
        median(arm.step_seconds) * 1e3, median(arm.reduce_seconds) * 1e3,
        median(arm.wait_seconds) * 1e3);
  }
  return 0;
}
