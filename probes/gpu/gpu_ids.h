// Which GPU is which: the ids that people, drivers and frameworks use for the same device.
//
// physical  the driver's own number (nvidia-smi, NVML), in order of PCI address
// logical   the number inside a process, after CUDA_VISIBLE_DEVICES: cuda:0, gpu:0, --gpu_id 0
// UUID      the only name that means the same everywhere
// A framework takes logical ids; handing it a physical one asks for a device that is not there, or
// for another one. Nothing here falls back to GPU 0 in silence. All functions are pure.
//
// Source of the list rules: CUDA C++ Programming Guide, "CUDA Environment Variables" (the first
// invalid entry ends the list), checked against PyTorch's torch/cuda/__init__.py (a number followed
// by letters counts as the number; a repeated device hides all; a UUID may be cut short while it is
// unambiguous); ROCm "GPU isolation" for the AMD variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace ocrtune {

enum class GpuVendor { nvidia, amd };

struct PhysicalGpu {
  int index = 0;                    // as nvidia-smi or rocm-smi counts
  std::string uuid;                 // "GPU-5a6b..."
  std::string name;                 // "NVIDIA GeForce RTX 4090"
  bool mig = false;                 // divided: CUDA sees the slices, not the whole
  std::vector<std::string> slices;  // "MIG-..." of a divided GPU
};

struct VisibleGpu {
  int logical = 0;
  int physical = -1;  // -1: cannot be known (see GpuView::problems)
  std::string uuid;   // of the GPU, or of the slice
  std::string name;
};

struct GpuView {
  std::vector<VisibleGpu> gpus;       // in logical order
  std::string because;                // "CUDA_VISIBLE_DEVICES=2,0", "no variable hides any"
  std::vector<std::string> problems;  // entries that CUDA drops, doubtful order: in words
};

// What a process with this environment sees of these GPUs.
GpuView visible_gpus(const std::vector<PhysicalGpu>& gpus, const Environment& environment,
                     GpuVendor vendor);

struct GpuChoice {
  std::vector<VisibleGpu> gpus;  // never empty
  std::string because;
  bool by_default = false;  // nobody named a device and several are visible: warn of it
};

// The devices that this process should use, by the first that says so: `wanted` ("1", "0,2",
// "gpu:1", "cuda:0,1", "all", a UUID or its beginning), FLAGS_selected_gpus (relative to the
// visible list, perhaps several), the local rank of a launcher, the only visible GPU; else the
// first visible one, marked by_default. Errors of kind missing: no GPU is visible, or a named one
// is not among them; of kind usage: not an id.
Result<GpuChoice> choose_gpus(const GpuView& view, std::string_view wanted,
                              const Environment& environment);

// The device of one rank that a launcher has started. `wanted` "auto" is the rank's own: what
// FLAGS_selected_gpus says, else the local rank's; a list gives rank r its r-th entry. Nothing is
// shared or taken by default: usage when the environment names no rank and several GPUs are
// visible, missing when there are more ranks than devices.
Result<VisibleGpu> gpu_of_rank(const GpuView& view, std::string_view wanted,
                               const Environment& environment);

// "GPU-5a6b..." from the 16 bytes by which CUDA names a device; of a slice "MIG-...".
std::string gpu_uuid_text(const char* bytes, bool slice);
// The same device by UUID: letters' case counts for nothing, and one may be cut short.
bool same_gpu_uuid(std::string_view a, std::string_view b);

// The variables that make exactly this device logical 0 of a child process; nullopt removes an
// inherited one (as in ProcessOptions::environment).
std::vector<std::pair<std::string, std::optional<std::string>>> gpu_environment(
    const VisibleGpu& gpu, GpuVendor vendor);

}  // namespace ocrtune
