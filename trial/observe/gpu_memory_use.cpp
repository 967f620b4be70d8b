// NVML is asked in the process that computes: the parent of a trial never loads a driver's library
// (docs/adr/0003). Functions that an older library lacks are null, and every one is looked at
// before it is called.
#include "trial/observe/gpu_memory_use.h"

#include <limits>

namespace ocrtune {
namespace {

std::string uuid_of(const NvmlApi& api, NvmlDevice device) {
  char text[128] = {};
  if (api.uuid == nullptr || api.uuid(device, text, sizeof text - 1) != kNvmlSuccess) return "";
  return text;
}

// The slice of a divided GPU that has this UUID.
NvmlDevice slice_of(const NvmlApi& api, NvmlDevice device, const std::string& uuid) {
  unsigned most = 0;
  if (api.mig_count == nullptr || api.mig_handle == nullptr) return nullptr;
  if (api.mig_count(device, &most) != kNvmlSuccess) return nullptr;
  for (unsigned i = 0; i < most; ++i) {
    NvmlDevice slice = nullptr;
    if (api.mig_handle(device, i, &slice) != kNvmlSuccess) continue;
    if (uuid_of(api, slice) == uuid) return slice;
  }
  return nullptr;
}

NvmlDevice find(const NvmlApi& api, const std::string& uuid) {
  unsigned count = 0;
  if (api.count == nullptr || api.handle == nullptr) return nullptr;
  if (api.count(&count) != kNvmlSuccess) return nullptr;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    if (api.handle(i, &device) != kNvmlSuccess) continue;
    if (uuid_of(api, device) == uuid) return device;
    if (NvmlDevice slice = slice_of(api, device, uuid); slice != nullptr) return slice;
  }
  return nullptr;
}

}  // namespace

GpuMemoryUse::GpuMemoryUse(const std::string& uuid, const std::string& library) {
  auto api = open_nvml(library);
  if (!api || api->init == nullptr || api->init() != kNvmlSuccess) return;
  api_ = *api;
  device_ = find(api_, uuid);
}

std::optional<std::uint64_t> GpuMemoryUse::of_process(int pid) const {
  if (device_ == nullptr) return std::nullopt;
  for (const NvmlProcess& entry : nvml_processes(api_.processes, device_)) {
    const std::uint64_t bytes = entry.used_bytes;
    if (static_cast<int>(entry.pid) != pid) continue;
    // All ones: the driver does not keep books here. Nothing: it keeps them by the numbers that
    // processes have outside of this container (open-gpu-kernel-modules, pull request 614).
    if (bytes == 0 || bytes == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> GpuMemoryUse::of_all() const {
  NvmlMemory memory;
  if (device_ == nullptr || api_.memory == nullptr) return std::nullopt;
  if (api_.memory(device_, &memory) != kNvmlSuccess) return std::nullopt;
  return memory.used;
}

}  // namespace ocrtune
