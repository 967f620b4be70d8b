// Two views are compared: the CPUs that a worker saw from inside (sched_getcpu) and those that
// /proc shows from outside. A mask alone does not prove where a thread ran.
#include "trial/observe/placement.h"

#include <cstddef>

#include "base/files.h"
#include "base/raw_proc.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kLastCpuField = 36;  // of stat, counted from the state: proc(5) calls it 39

std::string name_of(std::size_t worker, const Placement& placement) {
  return "worker " + std::to_string(worker) + " (pid " + std::to_string(placement.pid) + ")";
}

CpuSet used_by(const Placement& placement) {
  return placement.seen_inside.unite(placement.seen_outside);
}

void compare_pair(const std::vector<Placement>& workers, std::size_t a, std::size_t b,
                  std::vector<std::string>& conflicts) {
  const std::string names = name_of(a, workers[a]) + " and " + name_of(b, workers[b]);
  const CpuSet used = used_by(workers[a]).intersect(used_by(workers[b]));
  const CpuSet allowed = workers[a].allowed.intersect(workers[b].allowed);
  if (!used.empty()) {
    conflicts.push_back(names + " both ran on CPU " + used.text());
  } else if (!allowed.empty()) {
    conflicts.push_back(names + " may both run on CPU " + allowed.text());
  }
}

}  // namespace

CpuSet allowed_cpus(int pid) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/status", 65'536);
  const auto list = status ? status_value(*status, "Cpus_allowed_list") : std::nullopt;
  return list ? CpuSet::parse(*list).value_or(CpuSet()) : CpuSet();
}

CpuSet last_used_cpus(int pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  std::vector<int> cpus;
  const auto threads = list_directory(tasks).value_or({});
  for (const std::string& thread : threads) {
    const auto stat = read_file(tasks + "/" + thread + "/stat", 4096);
    if (!stat) continue;
    // The name may hold blanks and brackets, so fields are counted behind its last bracket.
    const std::size_t after_name = stat->rfind(") ");
    if (after_name == std::string::npos) continue;
    const auto fields = words(std::string_view(*stat).substr(after_name + 2));
    if (fields.size() <= kLastCpuField) continue;
    const auto cpu = parse_integer(fields[kLastCpuField]);
    if (cpu) cpus.push_back(static_cast<int>(*cpu));
  }
  return CpuSet(cpus);
}

std::vector<std::string> placement_conflicts(const std::vector<Placement>& workers,
                                             bool exclusive) {
  std::vector<std::string> conflicts;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Placement& worker = workers[i];
    // A worker that was meant for any CPU cannot stray.
    if (worker.meant.empty()) continue;
    const CpuSet strays = worker.allowed.unite(used_by(worker)).minus(worker.meant);
    if (strays.empty()) continue;
    conflicts.push_back(name_of(i, worker) + " was meant for CPU " + worker.meant.text() +
                        " and also has " + strays.text());
  }
  for (std::size_t a = 0; exclusive && a < workers.size(); ++a) {
    for (std::size_t b = a + 1; b < workers.size(); ++b) compare_pair(workers, a, b, conflicts);
  }
  return conflicts;
}

}  // namespace ocrtune
