// One question to one or several GPUs, asked by child processes that may hang, die or lie.
//
// NCCL and CUDA read their settings once a process, so a step is fresh processes with one set of
// variables. Every step ends by its deadline: what does not answer is terminated, then killed, with
// everything that it started. This process loads no driver.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "probes/p2p/steps/gpu_finding.h"
#include "probes/p2p/steps/nccl_log.h"
#include "probes/p2p/steps/p2p_facts.h"

namespace ocrtune {

struct GpuStep {
  std::string kind;                  // "devices", "copy", "handshake", "nccl", "sweep"
  int ranks = 1;                     // processes
  std::vector<std::string> devices;  // UUIDs; they become CUDA devices 0, 1, ...
  std::vector<std::string> options;  // further arguments, for all ranks alike
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_* of this step
  double deadline_seconds = 60;
};

struct GpuStepResult {
  StepResult result = StepResult::not_run;  // not_run: the step says that it cannot be done here
  std::string detail;                       // why it did not pass
  std::vector<GpuFinding> findings;         // of all ranks
  NcclLog log;                              // of all ranks
  double seconds = 0;
  bool stuck = false;        // a process outlived SIGKILL: the driver holds it in the kernel
  bool interrupted = false;  // by Ctrl-C
};

struct GpuStepPlace {
  std::string worker;             // the program; "": as in probes/gpu/gpu.h
  Environment environment;        // of this process
  double grace_seconds = 2;       // between SIGTERM and SIGKILL
  double last_rank_seconds = 10;  // for the others once one rank has died
};

// Never fails: what went wrong is the result. NCCL_* of `place.environment` do not reach the step,
// but for those that name network interfaces and files of topology.
GpuStepResult run_gpu_step(const GpuStep& step, const GpuStepPlace& place);

// The variables that a step's processes get, without the parent's. For tests and for the report.
std::vector<std::pair<std::string, std::string>> step_environment(const GpuStep& step,
                                                                  const std::string& folder);

}  // namespace ocrtune
