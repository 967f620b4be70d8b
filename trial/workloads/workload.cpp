// Defaults that all kinds share. They are generous: a trial that does not end by its stopping rule
// ends by these.
#include "trial/workloads/workload.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "probes/placement/partition.h"
#include "trial/watch/control_kernel.h"

namespace ocrtune {

TrialLimits Workload::limits(double measure_seconds) const {
  TrialLimits limits;
  limits.measure_seconds = measure_seconds;
  // Half a minute for start and warm-up of short trials, ten times the measuring of long ones (a
  // guess).
  limits.max_seconds = std::max(30.0, 10 * measure_seconds);
  return limits;
}

Status check_measured_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.empty() || path_exists(path)) continue;
    return Error{ErrorKind::missing, "the run measures " + path + ", which is not there" +
                                         (path[0] == '/' ? "" : " (seen from this folder)")};
  }
  return Status();
}

std::unique_ptr<Runner> controlled(std::unique_ptr<Runner> runner, const Machine& machine) {
  // Short beside any trial; a guess.
  constexpr double kControlSeconds = 0.02;
  const int threads = usable_cpu_count(machine.cpu);
  return make_controlled_runner(
      std::move(runner), [threads]() { return control_kernel_rate(threads, kControlSeconds); });
}

}  // namespace ocrtune
