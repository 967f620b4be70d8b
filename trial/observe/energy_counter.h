// Energy that the processor packages used, where the kernel counts it.
//
// Source: the powercap class, /sys/class/powercap/intel-rapl:N/energy_uj (Intel and AMD); it counts
// up to max_energy_range_uj and begins again. Since 2020 only root may read it on most machines,
// and virtual machines have none. The whole package is counted, other programs and the idle cores
// included.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"

namespace ocrtune {

class EnergyCounter {
 public:
  explicit EnergyCounter(FileRoot root = FileRoot());

  bool available() const { return !packages_.empty(); }
  std::string missing_reason() const { return missing_; }  // in words; empty: available
  // Joules since the last call (or since the construction), all packages; 0 without a counter.
  double take_joules();

 private:
  struct Package {
    std::string path;
    std::uint64_t last = 0;   // microjoules
    std::uint64_t range = 0;  // at which it begins again
  };
  FileRoot root_;
  std::vector<Package> packages_;
  std::string missing_;
};

}  // namespace ocrtune
