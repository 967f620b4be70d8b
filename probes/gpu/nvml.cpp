// One pass over the devices, then one over the pairs of them. A call that is missing, refused or
// unknown to an old driver leaves its fact empty and stops nothing.
#include "probes/gpu/nvml.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "probes/gpu/nvml_api.h"

namespace ocrtune {
namespace {

// NVML_NVLINK_MAX_LINKS of nvml.h.
constexpr unsigned kMaxLinks = 18;

// The value that a call wrote; the fallback when it is missing or refused.
template <typename T, typename Call, typename... Arguments>
T ask(Call call, T fallback, Arguments... arguments) {
  T value{};
  if (call == nullptr || call(arguments..., &value) != kNvmlSuccess) return fallback;
  return value;
}

int ask_number(int (*call)(NvmlDevice, unsigned*), NvmlDevice device) {
  return static_cast<int>(ask<unsigned>(call, 0U, device));
}

std::string ask_text(int (*call)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  char text[128] = {};
  if (call == nullptr || call(device, text, sizeof text - 1) != kNvmlSuccess) return "";
  return text;
}

std::string on_or_off(int value) { return value < 0 ? "" : value == 0 ? "off" : "on"; }

// "00000000:01:00.0" -> "0000:01:00.0", as sysfs names devices.
std::string sysfs_bus_id(std::string id) {
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t colon = id.find(':');
  return colon > 4 && colon != std::string::npos ? id.substr(colon - 4) : id;
}

std::string bus_id_of(const NvmlPci& pci) {
  return sysfs_bus_id(std::string(pci.bus_id, ::strnlen(pci.bus_id, sizeof pci.bus_id)));
}

// By sysfs, which tells it for every PCI device, whatever the driver's age.
int numa_of(const std::string& bus_id) {
  const auto text = read_file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  return static_cast<int>(parse_integer(trim(text.value_or("-1"))).value_or(-1));
}

std::string near_cpus_of(const std::string& bus_id) {
  const auto text = read_file("/sys/bus/pci/devices/" + bus_id + "/local_cpulist");
  return std::string(trim(text.value_or("")));
}

std::string compute_mode_name(int mode) {
  switch (mode) {
    case 0:
      return "default";
    case 2:
      return "prohibited";
    case 1:
    case 3:
      return "exclusive";
    default:
      return "";
  }
}

std::vector<std::string> slices_of(const NvmlApi& api, NvmlDevice device) {
  std::vector<std::string> uuids;
  const unsigned most = ask<unsigned>(api.mig_count, 0U, device);
  for (unsigned i = 0; i < most && i < 64 && api.mig_handle != nullptr; ++i) {
    NvmlDevice slice = nullptr;
    if (api.mig_handle(device, i, &slice) != kNvmlSuccess) continue;
    const std::string uuid = ask_text(api.uuid, slice);
    if (!uuid.empty()) uuids.push_back(uuid);
  }
  return uuids;
}

void read_load(const NvmlApi& api, NvmlDevice device, GpuFacts& gpu) {
  const auto sm = [](int (*call)(NvmlDevice, int, unsigned*), NvmlDevice of) {
    return static_cast<int>(ask<unsigned>(call, 0U, of, 1));
  };
  gpu.sm_clock_mhz = sm(api.clock, device);
  gpu.sm_clock_most_mhz = sm(api.clock_most, device);
  // Milliwatts by NVML.
  gpu.power_watts = ask_number(api.power, device) * 1e-3;
  gpu.power_limit_watts = ask_number(api.power_limit, device) * 1e-3;
  // Sensor 0 is the GPU's own (NVML_TEMPERATURE_GPU).
  gpu.temperature_celsius = static_cast<int>(ask<unsigned>(api.temperature, 0U, device, 0));
  NvmlUtilization busy;
  if (api.utilization != nullptr && api.utilization(device, &busy) == kNvmlSuccess) {
    gpu.busy_percent = static_cast<int>(busy.gpu);
  }
  for (const NvmlProcess& process : nvml_processes(api.drawing_processes, device)) {
    gpu.drawing_pids.push_back(static_cast<int>(process.pid));
  }
}

GpuFacts read_gpu(const NvmlApi& api, NvmlDevice device, int index, const std::string& driver) {
  GpuFacts gpu;
  gpu.index = index;
  gpu.driver = driver;
  gpu.name = ask_text(api.name, device);
  gpu.uuid = ask_text(api.uuid, device);
  const NvmlMemory memory = ask<NvmlMemory>(api.memory, {}, device);
  gpu.memory_bytes = memory.total;
  gpu.memory_used_bytes = memory.used;
  NvmlPci pci{};
  if (api.pci != nullptr && api.pci(device, &pci) == kNvmlSuccess) {
    gpu.pci_bus_id = bus_id_of(pci);
    gpu.numa = numa_of(gpu.pci_bus_id);
    gpu.near_cpus = near_cpus_of(gpu.pci_bus_id);
  }
  int major = 0;
  int minor = 0;
  if (api.capability != nullptr && api.capability(device, &major, &minor) == kNvmlSuccess) {
    gpu.compute_capability = fmt::format("{}.{}", major, minor);
  }
  gpu.pcie_generation = ask_number(api.pcie_generation, device);
  gpu.pcie_width = ask_number(api.pcie_width, device);
  gpu.pcie_generation_most = ask_number(api.pcie_generation_most, device);
  gpu.pcie_width_most = ask_number(api.pcie_width_most, device);
  gpu.compute_mode = compute_mode_name(ask<int>(api.compute_mode, -1, device));
  gpu.persistence = on_or_off(ask<int>(api.persistence, -1, device));
  int current = -1;
  int pending = -1;
  if (api.ecc != nullptr && api.ecc(device, &current, &pending) == kNvmlSuccess) {
    gpu.ecc = on_or_off(current);
  }
  unsigned divided = 0;
  unsigned divided_next = 0;
  if (api.mig != nullptr && api.mig(device, &divided, &divided_next) == kNvmlSuccess) {
    gpu.mig = on_or_off(static_cast<int>(divided));
    if (divided != 0) gpu.slices = slices_of(api, device);
  }
  read_load(api, device, gpu);
  return gpu;
}

// What hangs on a GPU's active links: other GPUs by bus id, or a switch.
struct LinkEnds {
  int active = 0;
  bool on_switch = false;
  std::vector<std::string> gpus;
};

LinkEnds link_ends(const NvmlApi& api, NvmlDevice device) {
  LinkEnds ends;
  for (unsigned link = 0; link < kMaxLinks && api.nvlink_state != nullptr; ++link) {
    int active = 0;
    if (api.nvlink_state(device, link, &active) != kNvmlSuccess || active == 0) continue;
    ++ends.active;
    constexpr int kSwitch = 2;
    if (ask<int>(api.nvlink_remote_type, -1, device, link) == kSwitch) ends.on_switch = true;
    NvmlPci remote{};
    if (api.nvlink_remote != nullptr && api.nvlink_remote(device, link, &remote) == kNvmlSuccess) {
      ends.gpus.push_back(bus_id_of(remote));
    }
  }
  return ends;
}

std::string p2p_status_name(int status) {
  constexpr const char* kNames[] = {"ok",
                                    "the chipset does not support it",
                                    "the GPU does not support it",
                                    "the I/O hub's topology does not support it",
                                    "switched off by a registry key",
                                    "not supported"};
  const bool named = status >= 0 && status < static_cast<int>(std::size(kNames));
  return named ? kNames[status] : "";
}

// NVML's common ancestor as NCCL names distances; "node" counts as PHB there.
std::string level_name(int ancestor) {
  if (ancestor < 0) return "";
  if (ancestor <= 10) return "PIX";
  if (ancestor <= 20) return "PXB";
  return ancestor <= 40 ? "PHB" : "SYS";
}

GpuLink read_link(const NvmlApi& api, const std::vector<NvmlDevice>& devices,
                  const std::vector<LinkEnds>& ends, const GpuReport& report, std::size_t from,
                  std::size_t to) {
  GpuLink link;
  link.from = report.gpus[from].index;
  link.to = report.gpus[to].index;
  const auto status = [&](int what) {
    return p2p_status_name(ask<int>(api.p2p_status, -1, devices[from], devices[to], what));
  };
  link.read = status(kNvmlP2pRead);
  link.write = status(kNvmlP2pWrite);
  link.atomics = status(kNvmlP2pAtomics);
  const auto& near = ends[from].gpus;
  const bool direct = std::find(near.begin(), near.end(), report.gpus[to].pci_bus_id) != near.end();
  // One mark of three is enough: the far end's address, a switch at both ends, or the P2P
  // capability together with an active link.
  link.nvlink = direct || (ends[from].on_switch && ends[to].on_switch) ||
                (status(kNvmlP2pNvlink) == "ok" && ends[from].active > 0);
  link.level = link.nvlink
                   ? "NVL"
                   : level_name(ask<int>(api.common_ancestor, -1, devices[from], devices[to]));
  return link;
}

// And how many cores the GPU has, which GpuFacts does not hold either.
void read_processes(const NvmlApi& api, NvmlDevice device, GpuReport& report) {
  GpuFacts& gpu = report.gpus.back();
  for (const NvmlProcess& process : nvml_processes(api.processes, device)) {
    // All ones: the driver keeps no books here (under MPS, in some containers).
    const bool told = process.used_bytes != std::numeric_limits<unsigned long long>::max();
    gpu.pids.push_back(static_cast<int>(process.pid));
    report.processes.push_back({gpu.index, gpu.pids.back(), told ? process.used_bytes : 0});
  }
  const int cores = ask_number(api.cuda_cores, device);
  if (cores > 0) report.cuda_cores[gpu.index] = cores;
}

void read_devices(const NvmlApi& api, const std::string& driver, GpuReport& report) {
  std::vector<NvmlDevice> devices;
  std::vector<LinkEnds> ends;
  const unsigned count = ask<unsigned>(api.count, 0U);
  for (unsigned i = 0; i < count && i < 64; ++i) {
    NvmlDevice device = nullptr;
    const int code = api.handle(i, &device);
    if (code != kNvmlSuccess) {
      report.unknowns.push_back(fmt::format("GPU {}: {}", i, api.explain(code)));
      continue;
    }
    report.gpus.push_back(read_gpu(api, device, static_cast<int>(i), driver));
    read_processes(api, device, report);
    devices.push_back(device);
    ends.push_back(link_ends(api, device));
    report.gpus.back().nvlinks = ends.back().active;
  }
  for (std::size_t from = 0; from < devices.size(); ++from) {
    for (std::size_t to = 0; to < devices.size(); ++to) {
      if (from != to) report.links.push_back(read_link(api, devices, ends, report, from, to));
    }
  }
}

}  // namespace

GpuReport read_nvml(const std::string& library) {
  GpuReport report;
  const auto api = open_nvml(library);
  if (!api) {
    const bool missing = api.error().kind == ErrorKind::missing;
    report.answered = missing && library.empty();  // no library, no driver: a plain "none"
    report.state =
        (report.answered ? "no GPU: no NVIDIA driver (" : "unknown: (") + api.error().what + ")";
    return report;
  }
  const int code = api->init();
  if (code != kNvmlSuccess) {
    // The library without its module is a machine without GPUs in use; any other error is no
    // answer.
    report.answered = code == kNvmlDriverNotLoaded;
    report.state = (report.answered ? "no GPU: the NVIDIA driver is not loaded ("
                                    : "unknown: the NVIDIA driver refuses (") +
                   api->explain(code) + ")";
    if (code == kNvmlVersionMismatch) {
      report.state += "; library and kernel module differ: restart after a driver update";
    }
    return report;
  }
  char driver[96] = {};
  if (api->driver_version != nullptr) {
    static_cast<void>(api->driver_version(driver, sizeof driver - 1));
  }
  report.cuda_driver_version = ask<int>(api->cuda_driver_version, 0);
  read_devices(*api, driver, report);
  report.answered = true;
  report.state = report.gpus.empty()
                     ? fmt::format("no GPU: driver {} sees none", driver)
                     : fmt::format("{}, driver {}", how_many(report.gpus.size(), "GPU"), driver);
  if (api->shutdown != nullptr) api->shutdown();
  return report;
}

}  // namespace ocrtune
