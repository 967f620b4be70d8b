// The team of base/thread_team.h, where each thread binds itself before it works. The waiting time
// is the second number of /proc/thread-self/schedstat, in ns (Linux, sched-stats.rst).
#include "probes/host/pinned_team.h"

#include <algorithm>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/text.h"
#include "base/thread_team.h"

namespace ocrtune {

bool run_pinned(const std::vector<int>& cpus, const std::function<void(std::size_t)>& work) {
  return run_team(cpus.size(), [&](std::size_t i) {
    static_cast<void>(set_affinity(0, CpuSet({cpus[i]})).ok());
    work(i);
  });
}

std::vector<int> spread_over(const std::vector<int>& cpus, std::size_t count) {
  std::vector<int> chosen;
  count = std::min(count, cpus.size());
  chosen.reserve(count);
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(cpus[i * cpus.size() / count]);
  return chosen;
}

double run_queue_wait_seconds() {
  const auto text = read_file("/proc/thread-self/schedstat");
  const auto fields = words(text.value_or(""));
  const auto waited = parse_number(fields.size() < 2 ? "" : fields[1]);
  return waited ? *waited * 1e-9 : -1;
}

}  // namespace ocrtune
