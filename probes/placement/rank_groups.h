// Which ranks share an L3 cache, a NUMA node, a package: told to the ranks as plain numbers.
#pragma once

#include <vector>

#include "base/cpu_set.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// groups[r]: of rank r that is bound to masks[r], from the innermost level to the outermost. Only
// levels (L3, NUMA node, package) in which every mask lies in one known group; the same ones, at
// most three, for all ranks.
std::vector<std::vector<int>> common_groups(const CpuFacts& cpu, const std::vector<CpuSet>& masks);

}  // namespace ocrtune
