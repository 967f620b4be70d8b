// The machine card: every fact about this machine that a launch setting depends on.
//
// One plain struct that climbs through all floors. A fact that could not be read has no value and
// says why; it is never guessed. Filled by probes/probe.h; written as JSON by
// probes/machine/machine_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"

namespace ocrtune {

// A value with where it came from, or no value and why not.
template <typename T>
struct Fact {
  std::optional<T> value;
  std::string source;  // "/sys/fs/cgroup/cpu.max", "measured", or the reason for unknown

  bool known() const { return value.has_value(); }
  T value_or(T fallback) const { return value.value_or(std::move(fallback)); }
};

// One logical CPU's place. Indexes are OS (physical) ones; -1 is unknown.
struct CpuPlace {
  int cpu = 0;
  int core = -1;  // equal for SMT siblings, unique over the machine
  int l3 = -1;    // cache group; CPUs that share a last-level cache have the same number
  int numa = -1;
  int package = -1;
  int smt_index = 0;  // 0 for the first thread of a core
  int kind = 0;       // 0 = the only or the slowest kind; higher is faster (P cores)
};

// A limit on usable CPUs or memory found on the way up; the least one wins.
struct Limit {
  double value = 0;        // CPUs, or bytes
  std::string limited_by;  // "affinity", "cpuset", "cpu.max of /docker/ab12", "MemTotal", ...
};

struct CpuFacts {
  std::string model;             // "AMD EPYC 7763 64-Core Processor"; empty when unknown
  std::vector<CpuPlace> places;  // every online CPU
  std::string topology_source;   // "hwloc, this machine", "hwloc, topology.xml", or why unknown
  CpuSet allowed;                // affinity and cpuset intersected, isolated CPUs left out
  int packages = 0, numa_nodes = 0, l3_groups = 0, physical_cores = 0, logical_cpus = 0;
  std::uint64_t l3_bytes_each = 0;
  Fact<double> usable_cpus;      // least of all limits; may be a fraction (quota 1.5)
  std::vector<Limit> limits;     // all that were found, ascending
  Fact<double> effective_cores;  // measured parallel capacity, in cores
  std::vector<std::pair<int, double>> scaling;  // (busy threads, speed relative to one)
  // In a CPU second of the fastest core: fp32 multiply-adds in the vectors of this build. Compares
  // machines that ran the same ocrtune.
  Fact<double> core_multiply_adds_per_second;
  double external_cpus = 0;      // used by others on the allowed CPUs during that measurement
  std::vector<std::string> isa;  // "avx2", "avx512f", "avx512_bf16", "amx_bf16", ...
  std::string isa_source;        // "cpuid and XCR0", "/proc/cpuinfo", or why unknown
  Fact<bool> native_bf16;
  Fact<std::string> governor;
};

struct MemoryFacts {
  std::uint64_t total_bytes = 0;      // MemTotal; 0: unknown
  std::uint64_t available_bytes = 0;  // least of MemAvailable and the room left in every cgroup
  Fact<double> limit_bytes;           // least of MemTotal, all cgroup ancestors, the batch system
  std::vector<Limit> limits;
  Fact<std::uint64_t> shm_bytes, shm_free_bytes;
  std::uint64_t swap_total_bytes = 0, swap_free_bytes = 0;
  Fact<int> overcommit;                     // vm.overcommit_memory
  Fact<std::string> transparent_hugepages;  // "always", "madvise", "never"
  // (threads, bytes per second) of the plateau; source says array size and kernel
  std::vector<std::pair<int, double>> bandwidth;
  Fact<double> bandwidth_bytes_per_second;  // best of `bandwidth`
};

struct ThreadEnvFact {
  std::string name, value;
  std::string effect;   // in words: "OpenMP teams have at most 1 thread"
  bool limits = false;  // true: it binds below the usable CPUs
};

// A further setting of the system, as its file says it: "kernel.numa_balancing" = "1".
struct SystemSetting {
  std::string name, value, source;
};

// One GPU as the driver describes it. 0 and "" are unknown, except where said otherwise.
struct GpuFacts {
  int index = 0;  // the driver's number (nvidia-smi)
  std::string name, uuid, pci_bus_id, driver;
  std::uint64_t memory_bytes = 0, memory_used_bytes = 0;
  int numa = -1;
  std::string near_cpus;                    // "0-15,32-47"; the nearest ones
  std::string compute_capability;           // "8.9"
  int pcie_generation = 0, pcie_width = 0;  // of this moment: lower when idle
  int pcie_generation_most = 0, pcie_width_most = 0;
  int nvlinks = 0;  // active ones
  int sm_clock_mhz = 0, sm_clock_most_mhz = 0;
  double power_watts = 0, power_limit_watts = 0;
  int temperature_celsius = 0;
  int busy_percent = -1;              // -1: unknown
  std::string compute_mode;           // "default", "exclusive", "prohibited"
  std::string persistence, ecc, mig;  // "on", "off", or "" unknown
  std::vector<std::string> slices;    // UUIDs of MIG slices
  std::vector<int> pids;              // of processes that compute on it
  std::vector<int> drawing_pids;      // of those that draw on it: a desktop, a browser
};

// Others use it, or it is wedged: much work and no process that the driver names. Drivers name none
// of another container's.
inline bool busy_for_nobody(const GpuFacts& gpu) {
  constexpr int kBusyPercent = 90;
  return gpu.busy_percent >= kBusyPercent && gpu.pids.empty() && gpu.drawing_pids.empty() &&
         gpu.mig != "on";
}

// What the driver says of one ordered pair of GPUs, by index.
struct GpuLink {
  int from = 0, to = 0;
  std::string level;        // "NVL", "PIX", "PXB", "PHB", "SYS"; "" unknown
  bool nvlink = false;      // joined by NVLink or NVSwitch
  std::string read, write;  // P2P status: "ok", "not supported", ...; "" unknown
  std::string atomics;      // the same
};

// A GPU that a process started here would see, under the number by which frameworks name it.
struct SeenGpu {
  int logical = 0;
  int physical = -1;  // the driver's number; -1: cannot be known
  std::string uuid;   // of the GPU or of the MIG slice
};

// The peer-to-peer verdict as it stands; probes/p2p/p2p.h gives the whole of it.
struct P2pSummary {
  std::string verdict, sentence, confidence;  // "UNSUPPORTED", in words, "low"
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> evidence, not_checked, hints;
};

struct RulesOfThumb {
  int memory_half = 0;       // half of the memory in GB, as a process count
  int cores_60_percent = 0;  // 60 % of the physical cores
  int seven = 7;             // "at most about 7"
};

// A setting computed from the facts alone, without a single measurement of the workload: cautious,
// and only a start. nproc 0: the facts do not suffice, and reasons says what is missing.
struct CautiousSetting {
  int nproc = 0, threads = 0, workers = 0;
  std::string binding = "none";
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> reasons;  // each a sentence
};

struct Machine {
  std::string source;  // "this machine", "saved tree DIR", "topology FILE"
  std::string host, kernel, os;
  std::string fingerprint;            // hash of what makes two runs comparable
  Fact<std::string> container;        // "docker", "podman", "slurm", "none"
  Fact<std::string> virtual_machine;  // "kvm", "none", ...
  CpuFacts cpu;
  MemoryFacts memory;
  std::vector<std::pair<std::string, std::string>> ulimits;  // name -> soft limit
  std::vector<ThreadEnvFact> thread_env;
  std::vector<SystemSetting> settings;
  std::vector<GpuFacts> gpus;
  std::vector<GpuLink> gpu_links;
  int cuda_driver_version = 0;  // 12040 is 12.4; 0: unknown
  P2pSummary p2p;
  std::string gpu_state;              // "no GPU: ...", "2 GPUs", in words
  std::vector<SeenGpu> visible_gpus;  // with this environment
  std::string gpu_visibility;         // "CUDA_VISIBLE_DEVICES=2,0", "no variable hides any"
  RulesOfThumb rules_of_thumb;
  CautiousSetting recommendation;
  std::vector<std::string> unknowns;  // what could not be known, and why
  std::vector<std::string> warnings;  // in words, with the way out
  std::vector<std::string> links;     // between the hosts of a run, each "a to b (...): so fast"
};

}  // namespace ocrtune
