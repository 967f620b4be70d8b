// Packages, NUMA nodes, cache groups, cores and SMT threads: hwloc behind one door, whether the
// machine is this one, a saved /sys tree, an XML export or a synthetic description.
//
// hwloc plugins that open CUDA, OpenCL, NVML or X in this process can hang or crash it, so they are
// left out; GPUs come from a child process. hwloc's memory sizes are proportions only: kernels
// report nodes before hot-added memory (7.3 of 23.5 GiB on one VM).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct Topology {
  std::string source;  // "hwloc, this machine", "hwloc, XML box.xml", ...
  bool live = false;   // describes the machine that we run on
  std::string cpu_model;
  std::vector<CpuPlace> places;
  int packages = 0, numa_nodes = 0, l3_groups = 0, physical_cores = 0, logical_cpus = 0;
  int cpu_kinds = 0;
  std::uint64_t l3_bytes_each = 0;  // of the smallest group; 0: none or unknown

  CpuSet cpus() const;
};

// `description`: "" reads `root`; else the name of an XML file, or a synthetic description such as
// "pack:2 numa:2 l3:4 core:4 pu:2". Call from one thread only. Errors: missing (no /sys tree, no
// such file), usage (neither a file nor a synthetic description), invalid (damaged XML).
Result<Topology> read_topology(const FileRoot& root, const std::string& description);

}  // namespace ocrtune
