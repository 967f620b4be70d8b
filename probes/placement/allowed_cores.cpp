// Negative numbers stand for CPUs of unknown core, so that they meet no core's number.
#include "probes/placement/allowed_cores.h"

#include <set>
#include <vector>

namespace ocrtune {

int allowed_cores(const CpuFacts& cpu) {
  std::set<int> cores;
  std::vector<int> placed;
  for (const CpuPlace& place : cpu.places) {
    if (!cpu.allowed.contains(place.cpu)) continue;
    cores.insert(place.core >= 0 ? place.core : -1 - place.cpu);
    placed.push_back(place.cpu);
  }
  return static_cast<int>(cores.size()) + cpu.allowed.minus(CpuSet(placed)).count();
}

}  // namespace ocrtune
