// Which NCCL settings make a training step shorter here: a step's compute with its all-reduces
// under way at the same time, as in training, not the bus bandwidth of idle GPUs.
//
// Every setting runs in fresh processes, visited in rounds one after the other so that drift meets
// all alike; results are checked to the last bit before they are timed. Nothing is swept that a
// verdict forbids, LL128 is never forced, and NVLS=0 and cuMem-host=0 enter only as workarounds of
// a failing control run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/stats.h"
#include "probes/p2p/p2p_ladder.h"

namespace ocrtune {

struct SweepOptions {
  std::vector<std::uint64_t> bucket_bytes;  // of the model's gradients, in the order of backward
  double compute_seconds = 0.1;             // of one step on one GPU, if known
  int rounds = 5;
  double deadline_seconds = 120;
};

struct SweepSetting {
  std::string name;  // "as it is", "P2P off", "4 CTAs"
  std::vector<std::pair<std::string, std::string>> env;
  bool workaround = false;  // tried only where the base fails
};

struct SweepRow {
  SweepSetting setting;
  StepResult result = StepResult::not_run;  // the worst of its rounds
  std::string detail;
  std::vector<double> step_seconds;  // a median for each round
  double all_reduce_seconds = 0, bytes_per_second = 0;
  std::string transports;
  bool env_proved = true;  // NCCL's log shows that it took the settings over
  Interval speedup;        // of the base's median over this one's; 1 for the base itself
};

struct SweepAnswer {
  std::vector<SweepRow> rows;  // the first is the base
  int best = 0;                // 0: nothing beats the base
  Interval gain{1, 1, 1};      // of the best, from rounds that had no part in choosing it
  double compute_seconds = 0;
  std::string sentence;               // what the best gains, in step time
  std::vector<std::string> warnings;  // NVIDIA's, of debugging variables
  bool interrupted = false;
};

// What may be tried after this verdict; the base (verdict.env, perhaps empty) comes first.
std::vector<SweepSetting> sweep_settings(const P2pFacts& facts, const P2pVerdict& verdict);

// Buckets of at most `max_bytes`, as DataParallel reducers cut the gradients of a model.
std::vector<std::uint64_t> gradient_buckets(std::uint64_t gradient_bytes,
                                            std::uint64_t max_bytes = 25ULL << 20);

SweepAnswer run_nccl_sweep(const std::vector<LadderGpu>& gpus,
                           const std::vector<SweepSetting>& settings, const SweepOptions& options,
                           const LadderWorld& world);

}  // namespace ocrtune
