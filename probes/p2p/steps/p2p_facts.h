// Everything that a verdict on GPU peer-to-peer may rest on: static facts and the rungs that were
// run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/environment.h"

namespace ocrtune {

enum class Tri { unknown, no, yes };

enum class StepResult { not_run, passed, wrong_data, hung, crashed };

// One rung of the ladder, repeated `tried` times.
struct P2pStep {
  StepResult result = StepResult::not_run;  // the worst of its tries
  int passed = 0, tried = 0;
  std::string detail;  // "first bad byte at 268435456, stale", "no answer within 2 s"
};

// One ordered pair of GPUs, by the driver's numbers.
struct P2pPairFacts {
  int from = 0, to = 0;
  std::string level;  // "NVL", "PIX", "PXB", "PHB", "SYS"; "" unknown
  bool nvlink = false;
  Tri driver_read = Tri::unknown, driver_write = Tri::unknown;  // NVML's P2P status
  Tri can_access_peer = Tri::unknown;                           // the CUDA runtime's answer
  P2pStep copy;                                                 // bytes checked by their owner
  P2pStep handshake;    // two resident kernels, bounded spin
  P2pStep nccl;         // collectives with P2P on, data checked
  P2pStep diagnostics;  // NCCL's own check of this direction, from 2.31 on
  double p2p_bytes_per_second = 0, shm_bytes_per_second = 0;  // at the workload's sizes; 0: unknown
  double copy_bytes_per_second = 0, expected_bytes_per_second = 0;
  double round_trip_seconds = 0;  // of the handshake in two processes, else in one; 0: unknown
  // The pair whose rates these are: the slowest of this distance. -1: this one.
  int rates_from = -1, rates_to = -1;
};

struct P2pFacts {
  int gpus = 0;
  std::vector<std::string> gpu_names;
  std::vector<P2pPairFacts> pairs;
  P2pStep control;                     // NCCL with P2P off: must work, or P2P is not to blame
  P2pStep control_without_shm;         // NCCL_SHM_DISABLE=1 as well
  P2pStep control_without_cumem_host;  // NCCL_CUMEM_HOST_ENABLE=0 as well
  P2pStep soak;                        // collectives under load for a minute
  bool wedged = false;                 // a GPU stays busy with no process on it
  std::string wedged_detail;           // which, and after what
  Tri oom_kill = Tri::unknown;         // evidence of an out-of-memory kill of the user's training
  std::string driver_version, nccl_version;
  int cuda_driver_version = 0;  // 12060 is 12.6; 0: unknown
  Tri iommu_translates = Tri::unknown, acs_redirects = Tri::unknown;
  Tri virtual_machine = Tri::unknown;
  std::uint64_t shm_bytes = 0;  // 0: unknown
  std::string not_run_because;  // why the rungs were not tried, where they were not; in words
  std::string nccl_missing;     // why NCCL cannot be opened; "": it can, or nobody tried
  Environment nccl_settings;    // NCCL_* already set, by the environment or an nccl.conf
  Environment nccl_files;       // which of them a file sets, and its path
};

}  // namespace ocrtune
