// NCCL's tables (src/graph/topo.h) in bytes per second, and the bounds of a path's weakest part.
#include "probes/gpu/link_speed.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {

double pcie_bytes_per_second(int generation, int width) {
  // Of 80 parts a lane: NCCL's table for PCIe 1 to 6, in 1e9 bytes per second.
  constexpr double kParts[] = {15, 30, 60, 120, 240, 480};
  if (generation < 1 || generation > 6 || width < 1) return 0;
  return width * kParts[generation - 1] / 80 * 1e9;
}

double nvlink_bytes_per_second(const std::string& compute_capability, int links) {
  const auto capability = parse_number(compute_capability);
  if (!capability || links < 1) return 0;
  // One NVLink of a generation. 8.6 is told apart from 8.0: it has slower links.
  double each = 0;
  if (*capability >= 10.0) {
    each = 40.1e9;
  } else if (*capability >= 9.0) {
    each = 20.6e9;
  } else if (*capability == 8.6) {
    each = 12e9;
  } else if (*capability >= 7.0) {
    each = 20e9;
  } else if (*capability >= 6.0) {
    each = 18e9;
  }
  return each * links;
}

double expected_link_bytes_per_second(const GpuFacts& from, const GpuFacts& to, bool nvlink) {
  if (nvlink) {
    return std::min(nvlink_bytes_per_second(from.compute_capability, from.nvlinks),
                    nvlink_bytes_per_second(to.compute_capability, to.nvlinks));
  }
  return std::min(pcie_bytes_per_second(from.pcie_generation_most, from.pcie_width_most),
                  pcie_bytes_per_second(to.pcie_generation_most, to.pcie_width_most));
}

double bounded_by_cpu(double bytes_per_second, const CpuMaker& cpu, const std::string& level) {
  const bool intel = cpu.vendor == "GenuineIntel";
  const bool across = level == "SYS";
  // Intel's processors pass on a sixth less of what comes from another device.
  if (intel && (across || level == "PHB")) bytes_per_second *= 5.0 / 6;
  if (!across) return bytes_per_second;
  double hop = 0;
  if (cpu.vendor == "AuthenticAMD") {
    hop = 16e9;
  } else if (intel && cpu.family == 6) {
    // Between packages, by the CPU's model: Emerald Rapids, Sapphire Rapids, Skylake, older ones.
    hop = cpu.model >= 0xCF ? 40e9 : cpu.model >= 0x8F ? 22e9 : cpu.model >= 0x55 ? 10e9 : 6e9;
  }
  return hop == 0 ? bytes_per_second : std::min(bytes_per_second, hop);
}

}  // namespace ocrtune
