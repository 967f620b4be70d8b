#include "probes/machine/fingerprint.h"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// FNV-1a: short, stable over builds and machines; nobody attacks it.
std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

std::string fingerprint_of(const Machine& machine) {
  const CpuFacts& cpu = machine.cpu;
  const double limit_gib = machine.memory.limit_bytes.value_or(0) / (1024.0 * 1024 * 1024);
  std::string text =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{:.2f}|{}", cpu.model, cpu.packages, cpu.numa_nodes,
                  cpu.l3_groups, cpu.physical_cores, cpu.logical_cpus, join(cpu.isa, ","),
                  cpu.usable_cpus.value_or(0), std::lround(limit_gib));
  for (const GpuFacts& gpu : machine.gpus) {
    text += fmt::format("|{}|{}|{}", gpu.name, gpu.memory_bytes, gpu.driver);
  }
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace ocrtune
