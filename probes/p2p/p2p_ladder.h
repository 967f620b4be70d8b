// The rungs that turn a driver's word about peer-to-peer into a verdict: T0 what CUDA says, T1 NCCL
// with P2P off, T2 copies, T3 a handshake of resident kernels, T4 NCCL with P2P on and its own
// diagnostics, T5 a soak, and at the end the recommendation again, as it would be used.
//
// A rung is climbed only where the one below held: NCCL's kernels, which wait without end, never
// run over a link at which our bounded ones failed. After every failure the driver is asked whether
// a GPU is still busy with no process on it; if so, nothing more is run.
//
// T2 to T4 ask whether data arrive. All pairs are asked, those that share no GPU at once: n GPUs
// take n - 1 rounds. Rates would disturb each other, so they are measured afterwards, one pair at a
// time, for one pair of each distance: the slowest while all copied, so that a degraded link shows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/gpu_report.h"
#include "probes/machine/machine.h"
#include "probes/p2p/p2p.h"
#include "probes/p2p/steps/gpu_step.h"

namespace ocrtune {

struct LadderOptions {
  bool force = false;           // also on GPUs that others use
  double soak_seconds = 0;      // 0: no soak
  double deadline_seconds = 0;  // of every step; 0: as the step needs
};

// The world as the ladder sees it: tests script it.
struct LadderWorld {
  std::function<GpuStepResult(const GpuStep&)> run;  // from several threads at once
  std::function<GpuReport()> look;                   // at the GPUs, through the driver
  std::function<void(double)> pause;                 // seconds, for a busy GPU to come to rest
  std::function<void(const std::string&)> announce;  // what is about to run; may be empty
};

struct LadderGpu {
  int index = 0;  // the driver's number
  std::string uuid;
};

struct LadderAnswer {
  P2pFacts facts;
  P2pVerdict verdict;
  double planned_seconds = 0;  // of what was run
  bool interrupted = false;
};

// Leaves out of `facts` what is about other GPUs than these.
void keep_pairs_of(const std::vector<LadderGpu>& gpus, P2pFacts& facts);

// `facts` are the static ones (probes/p2p/p2p_static.h) and `gpus` those to be looked at. Errors:
// failed (a GPU is in use), exhausted (too little GPU memory free), unsupported (the driver is too
// old for this build, mode prohibited). That this build or machine has no CUDA is no error: the
// facts stay static and say why.
Result<LadderAnswer> climb_p2p_ladder(const P2pFacts& facts, const std::vector<LadderGpu>& gpus,
                                      const std::vector<GpuFacts>& seen,
                                      const LadderOptions& options, const LadderWorld& world);

}  // namespace ocrtune
