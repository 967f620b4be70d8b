// A set of CPUs by their OS (physical) index, written as the kernel writes it: "0-3,8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<int> cpus);  // any order, duplicates allowed

  // "0-3,8,10-12"; the empty text is the empty set. Refuses more than 65,536 CPUs.
  static Result<CpuSet> parse(std::string_view list);
  static CpuSet range(int first, int last);  // inclusive

  const std::vector<int>& cpus() const { return cpus_; }  // ascending, unique
  int count() const { return static_cast<int>(cpus_.size()); }
  bool empty() const { return cpus_.empty(); }
  bool contains(int cpu) const;
  CpuSet intersect(const CpuSet& other) const;
  CpuSet unite(const CpuSet& other) const;
  CpuSet minus(const CpuSet& other) const;
  std::string text() const;  // "0-3,8"

  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<int> cpus_;
};

CpuSet current_affinity();  // of the calling thread
// Of this process as it was started: OpenMP's runtime narrows its first thread to one place before
// main() begins where OMP_PROC_BIND or its like is set, and children would inherit that.
CpuSet affinity_at_start();
Status set_affinity(int pid, const CpuSet&);  // pid 0: the calling thread

}  // namespace ocrtune
