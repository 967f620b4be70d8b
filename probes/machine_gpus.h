// Fills the machine card's GPU part: devices, links, warnings and the peer-to-peer verdict so far.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine/machine.h"

namespace ocrtune {

inline constexpr const char* kMpsSetting = "cuda_mps";  // in Machine::settings: "on" or "off"

// Asks the driver through a child process; `deadline_seconds` is reached only when it hangs. Run
// after everything else that the verdict looks at (container, memory) is filled in.
void add_gpus(Machine& machine, const FileRoot& root, const Environment& environment,
              double deadline_seconds);

// What a launch of up to `ranks` processes a node should know of its devices; nothing where all is
// plain: ranks that would share a GPU, a device named by nobody, ids that are not there.
std::vector<std::string> device_notes(const Machine& machine, const Environment& environment,
                                      int ranks);

// The machine's GPUs as the id logic takes them.
std::vector<PhysicalGpu> physical_gpus(const std::vector<GpuFacts>& gpus);

// Does NVIDIA's Multi-Process Service run? With it the kernels of several processes on one GPU run
// side by side; without it the processes take turns.
struct MpsState {
  bool on = false;
  std::string source;  // the file that says so, or that is not there
};

// By the control daemon's pid file, which it removes when it ends: in CUDA_MPS_PIPE_DIRECTORY, else
// /tmp/nvidia-mps, where clients look for the daemon too. Source: NVIDIA's MPS documentation.
MpsState read_mps(const FileRoot& root, const Environment& environment);

}  // namespace ocrtune
