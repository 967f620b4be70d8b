#include "probes/placement/rank_groups.h"

#include <algorithm>

namespace ocrtune {
namespace {

// The one group of a level that holds all CPUs of the mask; -1: several, or unknown.
int group_of(const CpuFacts& cpu, const CpuSet& mask, int CpuPlace::*level) {
  int group = -1, found = 0;
  for (const CpuPlace& place : cpu.places) {
    if (!mask.contains(place.cpu)) continue;
    if (found++ > 0 && place.*level != group) return -1;
    group = place.*level;
  }
  return found == mask.count() ? group : -1;
}

}  // namespace

std::vector<std::vector<int>> common_groups(const CpuFacts& cpu, const std::vector<CpuSet>& masks) {
  std::vector<std::vector<int>> groups(masks.size());
  for (int CpuPlace::*level : {&CpuPlace::l3, &CpuPlace::numa, &CpuPlace::package}) {
    std::vector<int> found;
    for (const CpuSet& mask : masks) found.push_back(group_of(cpu, mask, level));
    if (std::count(found.begin(), found.end(), -1) != 0) continue;
    for (std::size_t r = 0; r < masks.size(); ++r) groups[r].push_back(found[r]);
  }
  return groups;
}

}  // namespace ocrtune
