// Two ranks that train one model and exchange their gradients, under a launcher that gives up when
// one of them is gone:
//   exchange_worker CHECKPOINT STEPS [--resume]
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/random.h"
#include "core/comm/shm_comm.h"
#include "core/train/trainer.h"

namespace {

constexpr int kRanks = 2;
constexpr int kSaveEvery = 2;

struct Job {
  std::string checkpoint;
  int steps = 0;
  bool resume = false;
};

// Each rank has samples of its own; the same at the same step, whenever it is taken.
ocrtune::Batch batch_of(std::int64_t step, int rank) {
  ocrtune::Random random(static_cast<std::uint64_t>(step * kRanks + rank + 1));
  ocrtune::Batch batch;
  batch.count = 2;
  batch.width = 32;
  batch.images.resize(static_cast<std::size_t>(batch.count * batch.channels * 32 * 32));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform() * 2 - 1);
  for (int i = 0; i < batch.count; ++i)
    batch.labels.push_back({static_cast<int>(random.integer(1, 96))});
  return batch;
}

int run_rank(const Job& job, const std::string& segment, int rank) {
  ocrtune::ShmCommOptions shared;
  shared.segment = segment;
  shared.place = {rank, kRanks, rank, kRanks, 0, 1};
  auto comm = ocrtune::make_shm_comm(shared);
  if (!comm) return 1;
  ocrtune::TrainerOptions options;
  options.batch = 2;
  options.width = 32;
  auto trainer = ocrtune::Trainer::create(options, **comm);
  if (!trainer) return 1;
  if (job.resume && !(*trainer)->load(job.checkpoint)) return 1;
  while ((*trainer)->steps() < job.steps) {
    const auto report = (*trainer)->step(batch_of((*trainer)->steps(), rank));
    if (!report) {
      std::fprintf(stderr, "rank %d: %s\n", rank, report.error().what.c_str());
      return 1;
    }
    const auto step = static_cast<int>((*trainer)->steps());
    if (rank == 0) {
      std::printf("step %d loss %.17g\n", step, report->loss);
      std::fflush(stdout);
      if (step % kSaveEvery == 0 && !(*trainer)->save(job.checkpoint)) return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}

int launch(const Job& job) {
  const std::string segment = ocrtune::new_segment_name();
  pid_t ranks[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks[rank] = ::fork();
    if (ranks[rank] == 0) std::_Exit(run_rank(job, segment, rank));
  }
  int failed = 0;
  for (int ended = 0; ended < kRanks; ++ended) {
    int status = 0;
    const pid_t pid = ::wait(&status);
    if (status == 0) continue;
    failed = 1;
    if (WIFSIGNALED(status)) std::printf("pid %d: exitcode: -%d\n", pid, WTERMSIG(status));
    for (const pid_t other : ranks) ::kill(other, SIGTERM);
  }
  ocrtune::remove_segment(segment);
  return failed;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  return launch({arguments[1], std::atoi(arguments[2]),
                 count > 3 && std::string(arguments[3]) == "--resume"});
}
