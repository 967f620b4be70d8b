#include "probes/link_speed.h"

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

}  // namespace ocrtune
