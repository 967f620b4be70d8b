// Sets of CPUs (online, affinity, cpusets) are intersected; numbers (quotas, grants of a batch
// system) are compared with the size of what is left. The least of all is usable, and all are kept
// with their names, so that a report can say what binds.
#include "probes/host/cpu_limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

std::optional<CpuSet> status_cpus(const FileRoot& root, const std::string& path) {
  const auto text = root.read(path);
  const auto list = text ? status_value(*text, "Cpus_allowed_list") : std::nullopt;
  const auto cpus = list ? CpuSet::parse(*list) : Result<CpuSet>(CpuSet());
  if (!cpus || cpus->empty()) return std::nullopt;
  return *cpus;
}

struct Named {
  CpuSet cpus;
  std::string source;
  bool is_effective = false;  // CPUs that are online, by the kernel's own word
};

std::optional<Named> read_affinity(const FileRoot& root) {
  if (!root.is_live()) {
    const auto saved = status_cpus(root, "/proc/self/status");
    if (!saved) return std::nullopt;
    return Named{*saved, "affinity"};
  }
  const CpuSet own = current_affinity();
  if (own.empty()) return std::nullopt;
  return Named{own, "affinity", true};
}

std::optional<CpuSet> read_cpu_list(const FileRoot& root, const std::string& path) {
  const auto text = root.read(path);
  if (!text) return std::nullopt;
  const auto cpus = CpuSet::parse(trim(*text));
  if (!cpus || cpus->empty()) return std::nullopt;
  return *cpus;
}

std::vector<Named> read_cpusets(const FileRoot& root) {
  std::vector<Named> sets;
  const auto path = cgroup_path(root, "cpuset");
  if (!path) return sets;
  for (const CgroupLevel& level : path->levels) {
    // The effective set is what ancestors and online CPUs leave of the one that was asked for.
    const char* effective =
        path->version == 2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus";
    const auto real = read_cpu_list(root, level.folder + effective);
    const auto cpus = real ? real : read_cpu_list(root, level.folder + "/cpuset.cpus");
    if (cpus) sets.push_back({*cpus, "cpuset of " + level.name, real.has_value()});
  }
  return sets;
}

// CPUs' worth of time that one level grants; nothing when it sets no quota.
std::optional<double> quota_of(const FileRoot& root, const CgroupLevel& level, int version,
                               Notes& notes) {
  if (version == 1) {
    const auto quota = read_cgroup_number(root, level.folder + "/cpu.cfs_quota_us", &notes);
    const auto period = read_cgroup_number(root, level.folder + "/cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return *quota / *period;
  }
  const auto text = root.read(level.folder + "/cpu.max");
  if (!text) return std::nullopt;
  const auto fields = words(*text);
  if (!fields.empty() && fields[0] == "max") return std::nullopt;
  const auto quota = parse_number(fields.empty() ? "" : fields[0]);
  // The kernel's default period, where the file has the quota alone.
  const auto period = parse_number(fields.size() < 2 ? "100000" : fields[1]);
  if (quota && period && *quota > 0 && *period > 0) return *quota / *period;
  notes.unknowns.push_back(fmt::format("{}/cpu.max holds no quota: '{}'", level.folder,
                                       valid_utf8(std::string(trim(*text)).substr(0, 40))));
  return std::nullopt;
}

void add_quotas(const FileRoot& root, std::vector<Limit>& limits, Notes& notes) {
  const auto path = cgroup_path(root, "cpu");
  if (!path) {
    notes.unknowns.push_back("CPU quota: no cgroup with the cpu controller is visible");
    return;
  }
  const char* file = path->version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
  for (const CgroupLevel& level : path->levels) {
    if (const auto quota = quota_of(root, level, path->version, notes)) {
      limits.push_back({*quota, fmt::format("{} of {}", file, level.name)});
    }
  }
  if (!path->note.empty()) notes.unknowns.push_back("CPU quota: " + path->note);
  if (path->hidden_above) {
    notes.unknowns.push_back(
        "CPU quota: cgroups above the visible root cannot be read; measured effective cores show "
        "a quota set there");
  }
}

// A container's file system may number its CPUs from 0 (lxcfs), while masks keep the machine's
// numbers: what the kernel lets this process use is online, whatever the file says.
bool is_virtual(const CpuSet& online, const std::vector<Named>& kernel_sets) {
  return std::any_of(kernel_sets.begin(), kernel_sets.end(), [&](const Named& set) {
    return online.intersect(set.cpus).empty() ||
           (set.is_effective && !set.cpus.minus(online).empty());
  });
}

// Without topology and masks, as sandboxes leave it: the processors that /proc/cpuinfo lists.
CpuSet listed_processors(const FileRoot& root) {
  std::vector<int> cpus;
  for (const std::string& line : split(root.read("/proc/cpuinfo").value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (!starts_with(line, "processor") || colon == std::string::npos) continue;
    const auto cpu = parse_integer(trim(line.substr(colon + 1)));
    if (cpu && *cpu >= 0 && *cpu < 65536) cpus.push_back(static_cast<int>(*cpu));
  }
  return CpuSet(std::move(cpus));
}

CpuSet without_isolated(const FileRoot& root, const CpuSet& allowed, Notes& notes) {
  const auto isolated = read_cpu_list(root, "/sys/devices/system/cpu/isolated");
  if (!isolated) return allowed;
  CpuSet rest = allowed.minus(*isolated);
  if (rest.empty() || rest == allowed) return allowed;
  notes.warnings.push_back(fmt::format("CPUs {} are isolated from the scheduler and left out",
                                       allowed.intersect(*isolated).text()));
  return rest;
}

// "16(x2),8" -> {16, 16, 8}, as Slurm abbreviates; empty when it is something else.
std::vector<double> expand_slurm_list(const std::string& text) {
  std::vector<double> counts;
  for (const std::string& part : split(text, ',')) {
    const std::size_t open = part.find("(x");
    const auto count = parse_integer(trim(part.substr(0, open)));
    const auto times = open == std::string::npos
                           ? Result<std::int64_t>(1)
                           : parse_integer(part.substr(open + 2, part.find(')') - open - 2));
    if (!count || !times || *count < 1 || *times < 1 || *times > 65536) return {};
    counts.insert(counts.end(), static_cast<std::size_t>(*times), static_cast<double>(*count));
  }
  return counts;
}

std::optional<Limit> slurm_grant(const Environment& environment) {
  const auto on_node = parse_integer(environment_value(environment, "SLURM_CPUS_ON_NODE"));
  if (on_node && *on_node > 0) return Limit{static_cast<double>(*on_node), "SLURM_CPUS_ON_NODE"};
  const auto counts = expand_slurm_list(environment_value(environment, "SLURM_JOB_CPUS_PER_NODE"));
  const auto node = parse_integer(environment_value(environment, "SLURM_NODEID"));
  const std::size_t index = node && *node >= 0 ? static_cast<std::size_t>(*node) : 0;
  if (index >= counts.size()) return std::nullopt;
  return Limit{counts[index], "SLURM_JOB_CPUS_PER_NODE"};
}

// A step of Slurm that is bound to fewer CPUs than a task of the job was to have: since 22.05 srun
// does not inherit --cpus-per-task, and a cluster that binds gives such a task one core.
void warn_of_slurm_step(const Environment& environment, const CpuSet& allowed, Notes& notes) {
  const auto number = [&](const char* name) {
    const auto value = parse_integer(environment_value(environment, name));
    return value && *value > 0 ? *value : 0;
  };
  const auto on_node = number("SLURM_CPUS_ON_NODE");
  const auto tasks = std::max<std::int64_t>(
      1, parse_integer(environment_value(environment, "SLURM_NTASKS_PER_NODE")).value_or(0));
  auto per_task = number("SLURM_CPUS_PER_TASK");
  if (per_task == 0 && number("SLURM_NTASKS") <= 1) per_task = on_node / tasks;
  if (environment.count("SLURM_JOB_ID") == 0 || allowed.empty() || allowed.count() >= per_task) {
    return;
  }
  std::string place = environment_value(environment, "SLURM_JOB_ID");
  for (const auto& [name, what] :
       {std::pair("SLURM_STEP_ID", ", step "), std::pair("SLURM_PROCID", ", task ")}) {
    const std::string value = environment_value(environment, name);
    if (!value.empty()) place += what + value;
  }
  notes.warnings.push_back(fmt::format(
      "Slurm bound this process to CPUs {} of the {} that a task was to have (job {}): give srun "
      "--cpus-per-task, or export SRUN_CPUS_PER_TASK, which it does not take over from the job",
      allowed.text(), per_task, place));
}

}  // namespace

std::vector<Limit> batch_grants(const Environment& environment) {
  std::vector<Limit> grants;
  if (const auto slurm = slurm_grant(environment)) grants.push_back(*slurm);
  for (const char* name : {"PBS_NCPUS", "NCPUS", "LSB_DJOB_NUMPROC", "NSLOTS"}) {
    // Such names are also set outside of jobs: they count only beside a job's own variable.
    const bool in_job = environment.count("PBS_JOBID") != 0 ||
                        environment.count("LSB_JOBID") != 0 || environment.count("JOB_ID") != 0;
    const auto count = parse_integer(environment_value(environment, name));
    if (in_job && count && *count > 0) grants.push_back({static_cast<double>(*count), name});
  }
  return grants;
}

CpuLimits read_cpu_limits(const FileRoot& root, const Environment& environment,
                          const CpuSet& online, Notes& notes) {
  CpuLimits found;
  std::vector<Named> sets;
  if (auto affinity = read_affinity(root)) {
    sets.push_back(*affinity);
  } else {
    notes.unknowns.push_back("CPU affinity: /proc/self/status has no Cpus_allowed_list");
  }
  for (Named& set : read_cpusets(root)) sets.push_back(std::move(set));
  if (!online.empty() && !is_virtual(online, sets)) {
    sets.insert(sets.begin(), {online, "online CPUs"});
  }
  const CpuSet listed = sets.empty() ? listed_processors(root) : CpuSet();
  if (!listed.empty()) sets.push_back({listed, "processors of /proc/cpuinfo"});
  for (const Named& set : sets) {
    found.allowed = &set == &sets.front() ? set.cpus : found.allowed.intersect(set.cpus);
    found.limits.push_back({static_cast<double>(set.cpus.count()), set.source});
  }
  if (!sets.empty() && found.allowed.empty()) {
    notes.warnings.push_back("affinity, cpuset and online CPUs have no CPU in common");
  }
  found.allowed = without_isolated(root, found.allowed, notes);
  if (!found.allowed.empty()) {
    found.limits.push_back({static_cast<double>(found.allowed.count()), "allowed CPUs"});
  }
  add_quotas(root, found.limits, notes);
  warn_of_slurm_step(environment, found.allowed, notes);
  for (Limit& grant : batch_grants(environment)) found.limits.push_back(std::move(grant));
  // Stable: of equal limits the one that was read first gives its name.
  std::stable_sort(found.limits.begin(), found.limits.end(),
                   [](const Limit& a, const Limit& b) { return a.value < b.value; });
  if (found.limits.empty()) {
    found.usable.source = "neither the CPU list, the affinity nor a quota could be read";
    notes.unknowns.push_back("usable CPUs: " + found.usable.source);
  } else {
    found.usable = {found.limits.front().value, found.limits.front().limited_by};
  }
  return found;
}

}  // namespace ocrtune
