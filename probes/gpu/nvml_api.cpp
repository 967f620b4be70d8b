// The names in the library, one dlsym each; what an old driver lacks stays null.
#include "probes/gpu/nvml_api.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace ocrtune {
namespace {

template <typename Function>
void bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

void bind_devices(void* library, NvmlApi& api) {
  bind(library, "nvmlDeviceGetCount_v2", api.count);
  bind(library, "nvmlDeviceGetHandleByIndex_v2", api.handle);
  bind(library, "nvmlDeviceGetName", api.name);
  bind(library, "nvmlDeviceGetUUID", api.uuid);
  bind(library, "nvmlDeviceGetMemoryInfo", api.memory);
  bind(library, "nvmlDeviceGetPciInfo_v3", api.pci);
  bind(library, "nvmlDeviceGetCudaComputeCapability", api.capability);
  bind(library, "nvmlDeviceGetNumGpuCores", api.cuda_cores);
  bind(library, "nvmlDeviceGetCurrPcieLinkGeneration", api.pcie_generation);
  bind(library, "nvmlDeviceGetCurrPcieLinkWidth", api.pcie_width);
  bind(library, "nvmlDeviceGetMaxPcieLinkGeneration", api.pcie_generation_most);
  bind(library, "nvmlDeviceGetMaxPcieLinkWidth", api.pcie_width_most);
  bind(library, "nvmlDeviceGetClockInfo", api.clock);
  bind(library, "nvmlDeviceGetMaxClockInfo", api.clock_most);
  bind(library, "nvmlDeviceGetPowerUsage", api.power);
  bind(library, "nvmlDeviceGetEnforcedPowerLimit", api.power_limit);
  bind(library, "nvmlDeviceGetTemperature", api.temperature);
  bind(library, "nvmlDeviceGetUtilizationRates", api.utilization);
  bind(library, "nvmlDeviceGetComputeMode", api.compute_mode);
  bind(library, "nvmlDeviceGetPersistenceMode", api.persistence);
  bind(library, "nvmlDeviceGetEccMode", api.ecc);
  bind(library, "nvmlDeviceGetMigMode", api.mig);
  bind(library, "nvmlDeviceGetMaxMigDeviceCount", api.mig_count);
  bind(library, "nvmlDeviceGetMigDeviceHandleByIndex", api.mig_handle);
  bind(library, "nvmlDeviceGetComputeRunningProcesses_v3", api.processes);
  if (api.processes == nullptr) {  // drivers before 510; the entries look the same
    bind(library, "nvmlDeviceGetComputeRunningProcesses_v2", api.processes);
  }
  bind(library, "nvmlDeviceGetGraphicsRunningProcesses_v3", api.drawing_processes);
  if (api.drawing_processes == nullptr) {
    bind(library, "nvmlDeviceGetGraphicsRunningProcesses_v2", api.drawing_processes);
  }
}

void bind_links(void* library, NvmlApi& api) {
  bind(library, "nvmlDeviceGetNvLinkState", api.nvlink_state);
  bind(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", api.nvlink_remote);
  bind(library, "nvmlDeviceGetNvLinkRemoteDeviceType", api.nvlink_remote_type);
  bind(library, "nvmlDeviceGetP2PStatus", api.p2p_status);
  bind(library, "nvmlDeviceGetTopologyCommonAncestor", api.common_ancestor);
}

}  // namespace

std::string NvmlApi::explain(int code) const {
  const char* text = error_text == nullptr ? nullptr : error_text(code);
  return fmt::format("code {}{}{}", code, text == nullptr ? "" : ": ", text == nullptr ? "" : text);
}

Result<NvmlApi> open_nvml(const std::string& path) {
  const std::string name = path.empty() ? "libnvidia-ml.so.1" : path;
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return Error{ErrorKind::missing, why == nullptr ? name + " cannot be opened" : why};
  }
  NvmlApi api;
  bind(library, "nvmlInit_v2", api.init);
  bind(library, "nvmlShutdown", api.shutdown);
  bind(library, "nvmlErrorString", api.error_text);
  bind(library, "nvmlSystemGetDriverVersion", api.driver_version);
  bind(library, "nvmlSystemGetCudaDriverVersion_v2", api.cuda_driver_version);
  bind_devices(library, api);
  bind_links(library, api);
  if (api.init == nullptr || api.count == nullptr || api.handle == nullptr) {
    return Error{ErrorKind::invalid, name + " is not NVIDIA's management library"};
  }
  return api;
}

std::vector<NvmlProcess> nvml_processes(int (*call)(NvmlDevice, unsigned*, NvmlProcess*),
                                        NvmlDevice device) {
  if (call == nullptr) return {};
  std::vector<NvmlProcess> found(64);
  auto count = static_cast<unsigned>(found.size());
  int code = call(device, &count, found.data());
  if (code == kNvmlInsufficientSize) {
    found.resize(count + 64);  // processes may come between the two calls
    count = static_cast<unsigned>(found.size());
    code = call(device, &count, found.data());
  }
  if (code != kNvmlSuccess) return {};
  found.resize(std::min<std::size_t>(count, found.size()));
  return found;
}

}  // namespace ocrtune
