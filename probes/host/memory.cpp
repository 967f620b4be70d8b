// The order matters: MemAvailable is read first, and nodes and control groups then take from it.
// Limits are only collected; settle_limit() picks the least in the end.
#include "probes/host/memory.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/cgroups.h"
#include "probes/host/memory_nodes.h"

namespace ocrtune {
namespace {

constexpr double kUnlimited = 0x1p60;  // v1 writes "no limit" as 2^63 less a page
constexpr std::uint64_t kMiB = 1ULL << 20;

// /proc/meminfo: "MemTotal:       24684096 kB" -> bytes.
std::map<std::string, std::uint64_t> read_meminfo(const FileRoot& root) {
  std::map<std::string, std::uint64_t> sizes;
  const auto text = root.read("/proc/meminfo");
  if (!text) return sizes;
  for (const std::string& line : split(*text, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 2 || !ends_with(fields[0], ":")) continue;
    const auto number = parse_integer(fields[1]);
    if (!number || *number < 0 || *number > (1LL << 50)) continue;
    // The counts of huge pages have no unit.
    const std::uint64_t unit = fields.size() > 2 && fields[2] == "kB" ? 1024 : 1;
    sizes[fields[0].substr(0, fields[0].size() - 1)] = static_cast<std::uint64_t>(*number) * unit;
  }
  return sizes;
}

// "inactive_file 123" in memory.stat; v1 has the whole subtree as total_inactive_file.
std::optional<double> stat_value(const FileRoot& root, const std::string& path,
                                 std::string_view key) {
  const auto text = root.read(path);
  if (!text) return std::nullopt;
  for (const std::string& line : split(*text, '\n')) {
    const auto fields = words(line);
    if (fields.size() != 2 || fields[0] != key) continue;
    const auto number = parse_number(fields[1]);
    if (number) return *number;
  }
  return std::nullopt;
}

struct MemoryFiles {
  struct {
    const char *limit, *usage;
  } counted[2];
  const char* inactive;
};

// memsw: memory and swap together, so memory too.
constexpr MemoryFiles kFilesV1 = {{{"memory.limit_in_bytes", "memory.usage_in_bytes"},
                                   {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"}},
                                  "total_inactive_file"};
// memory.high does not kill but slows to a crawl: for a launch it is as good as a limit.
constexpr MemoryFiles kFilesV2 = {
    {{"memory.max", "memory.current"}, {"memory.high", "memory.current"}}, "inactive_file"};

void read_level(const FileRoot& root, const CgroupLevel& level, const MemoryFiles& files,
                MemoryFacts& facts, Notes& notes) {
  for (const auto& [file, used] : files.counted) {
    const auto limit = read_cgroup_number(root, level.folder + "/" + file, &notes);
    if (!limit || *limit < 0 || *limit >= kUnlimited) continue;
    facts.limits.push_back({*limit, fmt::format("{} of {}", file, level.name)});
    const auto usage = read_cgroup_number(root, level.folder + "/" + used);
    if (!usage || facts.available_bytes == 0) continue;
    const double cache =
        stat_value(root, level.folder + "/memory.stat", files.inactive).value_or(0);
    const double room = std::max(0.0, *limit - std::max(0.0, *usage - cache));
    facts.available_bytes = std::min(facts.available_bytes, static_cast<std::uint64_t>(room));
  }
}

// Where a group is killed as a whole, one greedy trial takes this program along.
void warn_of_group_kill(const FileRoot& root, const CgroupPath& path, Notes& notes) {
  for (const CgroupLevel& level : path.levels) {
    const auto whole = root.read(level.folder + "/memory.oom.group");
    if (!whole || trim(*whole) != "1") continue;
    notes.warnings.push_back(fmt::format(
        "memory.oom.group of control group {} is 1: when memory runs out, the kernel kills every "
        "process in it, ocrtune included, and nothing restarts the run; leave a margin below the "
        "limit (--memory-limit), or set it to 0 (kubelet: singleProcessOOMKill: true)",
        level.name));
    return;
  }
}

void read_cgroup_limits(const FileRoot& root, MemoryFacts& facts, Notes& notes) {
  const auto path = cgroup_path(root, "memory");
  if (!path) {
    notes.unknowns.push_back("memory limit: no cgroup with the memory controller is visible");
    return;
  }
  for (const CgroupLevel& level : path->levels) {
    read_level(root, level, path->version == 2 ? kFilesV2 : kFilesV1, facts, notes);
  }
  warn_of_group_kill(root, *path, notes);
  if (!path->note.empty()) notes.unknowns.push_back("memory limit: " + path->note);
  if (path->version == 1) {  // the kernel's own minimum, hidden ancestors included
    const auto whole =
        stat_value(root, path->levels.front().folder + "/memory.stat", "hierarchical_memory_limit");
    if (whole && *whole < kUnlimited) {
      facts.limits.push_back({*whole, "hierarchical_memory_limit of " + path->levels.front().name});
      return;
    }
  }
  if (path->hidden_above) {
    notes.unknowns.push_back("memory limit: cgroups above the visible root cannot be read");
  }
}

// Huge pages of all sizes, reserved at boot or later: part of MemTotal that programs which do not
// ask for them cannot have. Kernels before 4.19 give the count of one size alone.
std::uint64_t huge_pages_of(const std::map<std::string, std::uint64_t>& meminfo) {
  const auto size = [&](const char* name) {
    const auto found = meminfo.find(name);
    return found == meminfo.end() ? 0 : found->second;
  };
  return std::max(size("Hugetlb"), size("HugePages_Total") * size("Hugepagesize"));
}

// NVIDIA's driver gives the memory of a GPU that is coherent with the CPUs (GH200) to the kernel as
// nodes without CPUs. It is counted in MemTotal and is not the host's to fill.
std::optional<NodeSet> without_gpu_memory(const FileRoot& root,
                                          const std::vector<MemoryNode>& nodes) {
  if (!root.exists("/proc/driver/nvidia/version")) return std::nullopt;
  std::vector<int> near_cpus;
  for (const MemoryNode& node : nodes) {
    if (!node.cpus.empty()) near_cpus.push_back(node.node);
  }
  if (near_cpus.empty() || near_cpus.size() == nodes.size()) return std::nullopt;
  return NodeSet{CpuSet(std::move(near_cpus)), "the others are GPU memory"};
}

void read_nodes(const FileRoot& root, MemoryFacts& facts) {
  std::vector<MemoryNode> nodes = read_memory_nodes(root);
  for (const NodeSet& bound : memory_bindings(root)) bind_memory(bound, nodes, facts);
  if (const auto host = without_gpu_memory(root, nodes)) bind_memory(*host, nodes, facts);
}

void read_batch_limit(const Environment& environment, MemoryFacts& facts) {
  // Slurm gives these in MiB (sbatch(1)).
  const auto per_node = parse_integer(environment_value(environment, "SLURM_MEM_PER_NODE"));
  if (per_node && *per_node > 0) {
    facts.limits.push_back(
        {static_cast<double>(*per_node) * static_cast<double>(kMiB), "SLURM_MEM_PER_NODE"});
  }
  const auto per_cpu = parse_integer(environment_value(environment, "SLURM_MEM_PER_CPU"));
  const auto cpus = parse_integer(environment_value(environment, "SLURM_CPUS_ON_NODE"));
  if (per_cpu && cpus && *per_cpu > 0 && *cpus > 0) {
    facts.limits.push_back(
        {static_cast<double>(*per_cpu) * static_cast<double>(*cpus) * static_cast<double>(kMiB),
         "SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE"});
  }
}

// A saved tree has no file system to ask; the mount options may name the size.
Fact<std::uint64_t> saved_shm_size(const FileRoot& root) {
  const auto text = root.read("/proc/self/mountinfo");
  if (!text) return {std::nullopt, "no /proc/self/mountinfo in the saved tree"};
  for (const std::string& line : split(*text, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 5 || fields[4] != "/dev/shm") continue;
    for (const std::string& option : split(fields.back(), ',')) {
      if (!starts_with(option, "size=")) continue;
      const auto bytes = parse_bytes(option.substr(5));
      if (bytes) return {*bytes, "size= of /dev/shm in /proc/self/mountinfo"};
    }
  }
  return {std::nullopt, "the saved mount options of /dev/shm name no size"};
}

void read_shm(const FileRoot& root, MemoryFacts& facts) {
  if (!root.is_live()) {
    facts.shm_bytes = saved_shm_size(root);
    facts.shm_free_bytes.source = "a saved tree does not hold how full /dev/shm was";
    return;
  }
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) != 0) {
    facts.shm_bytes.source = facts.shm_free_bytes.source = "/dev/shm is not mounted";
    return;
  }
  facts.shm_bytes = {static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize, "statvfs /dev/shm"};
  facts.shm_free_bytes = {static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize,
                          "statvfs /dev/shm"};
}

// "always [madvise] never" -> "madvise".
Fact<std::string> read_choice(const FileRoot& root, const std::string& path) {
  const auto text = root.read(path);
  if (!text) return {std::nullopt, path + " is not there"};
  const std::size_t open = text->find('[');
  const std::size_t close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return {std::nullopt, path + " marks no choice"};
  }
  return {text->substr(open + 1, close - open - 1), path};
}

Fact<int> read_overcommit(const FileRoot& root) {
  const std::string path = "/proc/sys/vm/overcommit_memory";
  const auto text = root.read(path);
  if (!text) return {std::nullopt, path + " is not there"};
  const auto mode = parse_integer(trim(*text));
  if (!mode || *mode < 0 || *mode > 2) return {std::nullopt, path + " holds no mode 0, 1 or 2"};
  return {static_cast<int>(*mode), path};
}

void warn(const MemoryFacts& facts, Notes& notes) {
  const std::uint64_t shm = facts.shm_bytes.value_or(~0ULL);
  // Docker gives 64 MiB unless told otherwise. 1 GiB and the 256 MiB below are guesses.
  if (shm < 1024 * kMiB) {
    notes.warnings.push_back(fmt::format(
        "/dev/shm has only {}: loader workers and NCCL die of 'Bus error' when it is full; start "
        "the container with --shm-size=8g or --ipc=host",
        format_bytes(shm)));
  }
  if (facts.overcommit.value_or(0) == 2) {
    notes.warnings.push_back(
        "vm.overcommit_memory is 2: allocations fail long before the memory is full");
  }
  const std::uint64_t swap_used = facts.swap_total_bytes - facts.swap_free_bytes;
  if (facts.swap_total_bytes > 0 && swap_used > 256 * kMiB) {
    notes.warnings.push_back(fmt::format(
        "{} are swapped out already: measurements here will spread", format_bytes(swap_used)));
  }
}

std::string limit_text(const std::string& value, const std::string& unit) {
  const auto number = parse_integer(value);
  if (unit == "bytes" && number && *number >= 0) {
    return format_bytes(static_cast<std::uint64_t>(*number));
  }
  return value;
}

}  // namespace

MemoryFacts read_memory(const FileRoot& root, const Environment& environment, Notes& notes) {
  MemoryFacts facts;
  const auto meminfo = read_meminfo(root);
  const auto size = [&](const char* name) {
    const auto found = meminfo.find(name);
    return found == meminfo.end() ? 0 : found->second;
  };
  facts.total_bytes = size("MemTotal");
  facts.available_bytes = size("MemAvailable");
  facts.swap_total_bytes = size("SwapTotal");
  facts.swap_free_bytes = std::min(size("SwapFree"), facts.swap_total_bytes);
  if (facts.total_bytes > 0) {
    facts.limits.push_back({static_cast<double>(facts.total_bytes), "MemTotal"});
  } else {
    notes.unknowns.push_back("memory: /proc/meminfo has no MemTotal");
  }
  const std::uint64_t huge = std::min(huge_pages_of(meminfo), facts.total_bytes);
  if (huge > 0) {
    facts.limits.push_back({static_cast<double>(facts.total_bytes - huge),
                            "MemTotal less " + format_bytes(huge) + " of reserved huge pages"});
  }
  if (facts.available_bytes == 0) {
    notes.unknowns.push_back("free memory: /proc/meminfo has no MemAvailable");
  }
  read_nodes(root, facts);
  read_cgroup_limits(root, facts, notes);
  read_batch_limit(environment, facts);
  facts.limit_bytes.source = "neither MemTotal nor a cgroup limit could be read";
  settle_limit(facts);
  read_shm(root, facts);
  facts.overcommit = read_overcommit(root);
  facts.transparent_hugepages = read_choice(root, "/sys/kernel/mm/transparent_hugepage/enabled");
  warn(facts, notes);
  return facts;
}

std::vector<std::pair<std::string, std::string>> read_ulimits(const FileRoot& root, Notes& notes) {
  // The columns have fixed places: name, soft, hard, unit.
  constexpr std::size_t kNameWidth = 26;
  static const std::map<std::string, std::string> kWanted = {
      {"Max open files", "open files"},       {"Max processes", "processes"},
      {"Max locked memory", "locked memory"}, {"Max stack size", "stack"},
      {"Max address space", "address space"}, {"Max core file size", "core file"}};
  std::vector<std::pair<std::string, std::string>> limits;
  const auto text = root.read("/proc/self/limits");
  for (const std::string& line : split(text.value_or(""), '\n')) {
    if (line.size() <= kNameWidth) continue;
    const auto wanted = kWanted.find(std::string(trim(line.substr(0, kNameWidth))));
    const auto fields = words(line.substr(kNameWidth));
    if (wanted == kWanted.end() || fields.empty()) continue;
    limits.emplace_back(wanted->second, limit_text(fields[0], fields.size() > 2 ? fields[2] : ""));
    if (wanted->second == "address space" && fields[0] != "unlimited") {
      notes.warnings.push_back("ulimit -v is set: allocations fail at " + limits.back().second +
                               " a process");
    }
  }
  if (limits.empty()) notes.unknowns.push_back("ulimits: /proc/self/limits cannot be read");
  return limits;
}

}  // namespace ocrtune
