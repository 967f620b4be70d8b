// The part of NVML that ocrtune calls, declared here: its header is not in the distribution, and
// linking against it would keep the program from starting on machines without a driver.
//
// Source: the NVML API reference; versioned names (_v2, _v3) have fixed layouts. Every entry may be
// null: old drivers lack some.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct NvmlMemory {
  unsigned long long total = 0, free = 0, used = 0;
};

struct NvmlPci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct NvmlUtilization {
  unsigned gpu = 0, memory = 0;  // percent
};

struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

using NvmlDevice = void*;

// nvmlReturn_t, those that are told apart.
inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlInsufficientSize = 7;
inline constexpr int kNvmlDriverNotLoaded = 9;
inline constexpr int kNvmlVersionMismatch = 18;

// nvmlGpuP2PCapsIndex_t.
inline constexpr int kNvmlP2pRead = 0;
inline constexpr int kNvmlP2pWrite = 1;
inline constexpr int kNvmlP2pNvlink = 2;
inline constexpr int kNvmlP2pAtomics = 3;

struct NvmlApi {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_driver_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*pci)(NvmlDevice, NvmlPci*) = nullptr;
  int (*capability)(NvmlDevice, int*, int*) = nullptr;
  int (*cuda_cores)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_generation)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_generation_most)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width_most)(NvmlDevice, unsigned*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;       // 1: SM, in MHz
  int (*clock_most)(NvmlDevice, int, unsigned*) = nullptr;  // 1: SM, in MHz
  int (*power)(NvmlDevice, unsigned*) = nullptr;            // milliwatts
  int (*power_limit)(NvmlDevice, unsigned*) = nullptr;      // milliwatts
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*compute_mode)(NvmlDevice, int*) = nullptr;
  int (*persistence)(NvmlDevice, int*) = nullptr;
  int (*ecc)(NvmlDevice, int*, int*) = nullptr;
  int (*mig)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*mig_count)(NvmlDevice, unsigned*) = nullptr;
  int (*mig_handle)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
  int (*processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;  // that compute
  int (*drawing_processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  int (*nvlink_state)(NvmlDevice, unsigned, int*) = nullptr;
  int (*nvlink_remote)(NvmlDevice, unsigned, NvmlPci*) = nullptr;
  int (*nvlink_remote_type)(NvmlDevice, unsigned, int*) = nullptr;  // 0 GPU, 2 switch
  int (*p2p_status)(NvmlDevice, NvmlDevice, int, int*) = nullptr;
  int (*common_ancestor)(NvmlDevice, NvmlDevice, int*) = nullptr;

  std::string explain(int code) const;  // "code 999: Unknown Error"
};

// Opens the library for the life of the process; `path` "" takes libnvidia-ml.so.1 by the usual
// search. missing: not there; invalid: there, but not NVML. Runs code of others: call it only in a
// process that may hang or die.
Result<NvmlApi> open_nvml(const std::string& path);

// The processes that `call`, one of the two lists above, tells for a device; empty: none, or not
// told. A pid need not be of this namespace.
std::vector<NvmlProcess> nvml_processes(int (*call)(NvmlDevice, unsigned*, NvmlProcess*),
                                        NvmlDevice device);

}  // namespace ocrtune
