// On which CPUs a trial's threads may run, and what strangers had of these.
//
// taskset, numactl, cpusets and a program's own sched_setaffinity keep threads on some of the
// machine's CPUs. Threads wait there for those who run there, and for nobody else: what strangers
// do on other CPUs costs them no CPU time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"

namespace ocrtune {

using CpuSeconds = std::map<int, double>;  // by CPU

// Busy seconds of each CPU since the machine started: the lines "cpu0 ..." of /proc/stat.
CpuSeconds busy_by_cpu(std::string_view stat, double ticks_per_second);

// Threads that may run on the same CPUs, all together.
struct MaskedRun {
  std::shared_ptr<const CpuSet> allowed;
  double run_seconds = 0;
};

// What others had of each CPU: `busy` less what these threads ran, which they did on CPUs that they
// may use; of those, in the measure in which each is busy. Threads with few CPUs come first.
CpuSeconds left_to_others(CpuSeconds busy, std::vector<MaskedRun> own);

double sum_over(const CpuSeconds& seconds, const CpuSet& cpus);

// Sets of CPUs by their text as the kernel writes it, each once.
class CpuSetTexts {
 public:
  std::shared_ptr<const CpuSet> of(std::string_view text);  // null: it is no list of CPUs

 private:
  std::map<std::string, std::shared_ptr<const CpuSet>, std::less<>> known_;
};

// Which CPUs share a core: /sys/devices/system/cpu/cpuN/topology/thread_siblings_list.
class SmtSiblings {
 public:
  SmtSiblings() = default;  // none do
  explicit SmtSiblings(const FileRoot& root);
  explicit SmtSiblings(const std::vector<CpuSet>& cores);

  // These CPUs and all that share a core with one of them.
  CpuSet with_siblings(const CpuSet& cpus) const;
  int cores_of(const CpuSet& cpus) const;  // how many cores these CPUs are of

 private:
  std::map<int, CpuSet> siblings_;  // only where there are some
};

}  // namespace ocrtune
