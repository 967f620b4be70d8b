// Where the built-in core computes: the CPUs, or GPUs that were proved to be fit for it. Nothing is
// taken in silence: which GPUs, and why, is part of the answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct DeviceChoice {
  bool gpu = false;
  std::vector<VisibleGpu> gpus;    // in the order in which ranks take them
  std::uint64_t memory_bytes = 0;  // free on the fullest of them
  bool tensor_cores = false;       // all have tf32 and bf16
  std::string because;             // in words
  std::string no_nccl;             // why several GPUs cannot train together; empty: they can
};

struct DeviceRequest {
  std::string device = "auto";  // auto | cpu | gpu
  std::string gpus;             // "", "all", "0,2", UUIDs: as choose_gpus
  std::string gpu_worker;       // "": as in probes/gpu/gpu.h
  double deadline_seconds = 60;
};

// auto takes GPUs only where a child process has opened every one of them with the core's
// libraries. missing: no driver, no GPU, none visible, a named one is not there; unsupported: the
// GPUs or this build cannot; usage: a word that means nothing, a GPU named twice.
Result<DeviceChoice> choose_device(const DeviceRequest& request, const Machine& machine,
                                   const Environment& environment);

}  // namespace ocrtune
