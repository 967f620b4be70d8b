// Names of ARM cores: their kernel tells an implementer and a part, and no model.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// CPUs of one kind, where there are several (big.LITTLE, P and E cores).
struct CpuKind {
  std::string model;  // "Cortex-A76"; empty: unknown
  CpuSet cpus;
};

// "Cortex-A76" of ("0x41", "0xd0b"); "ARM part 0xabc" of an unknown part; empty: not a pair.
std::string arm_core_name(const std::string& implementer, const std::string& part);

// Of those that ARM builds for little power beside larger ones ("LITTLE").
bool is_small_arm_core(const std::string& name);

// CPUs of one core name each, as /proc/cpuinfo lists them; empty where it names no parts.
std::vector<CpuKind> read_arm_cores(const FileRoot& root);

// The kinds of CPUs where there are several, the fastest first: by the topology's ranks, by the
// kernel's cpu_capacity, by core name. Empty: all are alike.
std::vector<CpuKind> cpu_kinds(const FileRoot& root, const CpuFacts& cpu);

}  // namespace ocrtune
