// Counts are taken when a group is first seen and once more when a trial has failed. Groups are
// found by the members' /proc/PID/cgroup, because launchers and Slurm put ranks into groups of
// their own. The kernel's log needs the right to read it and is the better witness where it is
// there.
#include "trial/observe/oom_watch.h"

#include <sys/klog.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/cgroups.h"
#include "probes/host/memory_nodes.h"
#include "trial/observe/pid_namespace.h"

namespace ocrtune {
namespace {

constexpr double kForgetSeconds = 600;  // after the end of a process, for the diagnosis of its run

std::optional<std::uint64_t> count_of(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.size() != 2 || parts[0] != name) continue;
    const auto number = parse_integer(parts[1]);
    if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  }
  return std::nullopt;
}

// The pid that a line names as killed: "Out of memory: Killed process 812 (python) ...", "Memory
// cgroup out of memory: Killed process 812", "oom-kill:...,task=python,pid=812,uid=0"; 0: none.
int victim_of(const std::string& line) {
  // "Kill process" is the form of older kernels.
  constexpr std::string_view kMarkers[] = {"Killed process ", "Kill process "};
  for (const std::string_view marker : kMarkers) {
    const std::size_t at = line.find(marker);
    if (at != std::string::npos) {
      return std::atoi(line.c_str() + at + marker.size());  // NOLINT(cert-err34-c)
    }
  }
  const std::size_t at =
      line.find("oom-kill:") == std::string::npos ? std::string::npos : line.rfind(",pid=");
  // Behind ",pid=", the last one of the line: the victim's.
  return at == std::string::npos ? 0 : std::atoi(line.c_str() + at + 5);  // NOLINT(cert-err34-c)
}

using Counts = std::map<std::string, std::uint64_t>;

std::uint64_t growth_of(const Counts& before, const Counts& after, const std::string& group) {
  const auto then = before.find(group);
  const auto now = after.find(group);
  if (then == before.end() || now == after.end()) return 0;
  return now->second > then->second ? now->second - then->second : 0;
}

// How often a limit of the groups was reached; nothing where that is not known. Limits that are not
// seen are those of pods and slices: memory that is bound to nodes ends at these as a rule.
std::optional<std::uint64_t> limit_hits(const OomCounts& before, const OomCounts& after) {
  if (before.limits.empty() || after.limits.size() < before.limits.size()) return std::nullopt;
  if (after.hidden_limits && after.nodes.empty()) return std::nullopt;
  std::uint64_t hits = 0;
  for (const auto& [group, count] : after.limits) {
    hits += growth_of(before.limits, after.limits, group);
  }
  return hits;
}

// Victims of the log that are not ours, "812, 815"; empty as well when one of ours is named.
std::string only_others(const KernelLog& log, const std::set<int>& pids) {
  std::set<std::string> others;
  for (const std::string& line : log.readable ? log.lines : std::vector<std::string>()) {
    const int victim = victim_of(line);
    if (pids.count(victim) != 0) return "";
    if (victim > 0) others.insert(std::to_string(victim));
  }
  return join({others.begin(), others.end()}, ", ");
}

std::optional<std::uint64_t> read_count(const FileRoot& root, const std::string& folder) {
  // memory.events counts the groups below as well, memory.events.local (Linux 5.2) does not.
  for (const char* file : {"memory.events.local", "memory.events", "memory.oom_control"}) {
    const auto text = root.read(join_path(folder, file));
    if (text) return count_of(*text, "oom_kill");
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_limit_count(const FileRoot& root, const std::string& folder) {
  for (const char* file : {"memory.events.local", "memory.events"}) {
    const auto text = root.read(join_path(folder, file));
    if (text) return count_of(*text, "oom");
  }
  const auto text = root.read(join_path(folder, "memory.failcnt"));
  const auto count = text ? parse_integer(trim(*text)) : Result<std::int64_t>(-1);
  if (!count || *count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*count);
}

std::optional<std::uint64_t> read_host_count(const FileRoot& root) {
  const auto vmstat = root.read("/proc/vmstat");
  return vmstat ? count_of(*vmstat, "oom_kill") : std::nullopt;
}

}  // namespace

std::vector<std::string> kills_of(const KernelLog& log, const std::set<int>& pids) {
  std::vector<std::string> lines;
  if (!log.readable) return lines;
  std::copy_if(log.lines.begin(), log.lines.end(), std::back_inserter(lines),
               [&](const std::string& line) { return pids.count(victim_of(line)) != 0; });
  return lines;
}

OomVerdict judge_oom(const OomCounts& before, const OomCounts& after, const KernelLog& log,
                     const std::set<int>& pids) {
  OomVerdict verdict;
  const std::vector<std::string> kills = kills_of(log, pids);
  for (const std::string& line : kills) {
    verdict.killed = verdict.named = true;
    const auto says = [&](const char* part) { return line.find(part) != std::string::npos; };
    const bool of_group = says("Memory cgroup") || says("CONSTRAINT_MEMCG");
    const bool of_node = says("CONSTRAINT_MEMORY_POLICY") || says("CONSTRAINT_CPUSET");
    if (of_group || of_node || verdict.cause.empty()) {
      verdict.cause = of_group ? "cgroup" : of_node ? "numa_node" : "host";
    }
    verdict.evidence.push_back("kernel log: " + line);
  }
  const std::string others = only_others(log, pids);
  for (const auto& [group, count] : after.groups) {
    const std::uint64_t grown = growth_of(before.groups, after.groups, group);
    // A count grew, and the log says for whom: not for us.
    if (grown == 0 || !others.empty()) continue;
    verdict.killed = true;
    // The group counted a kill, and no limit was reached: the node or the machine was full.
    const bool below_limits = limit_hits(before, after) == 0U;
    if (verdict.cause.empty()) {
      verdict.cause = !below_limits ? "cgroup" : after.nodes.empty() ? "host" : "numa_node";
    }
    std::string words = fmt::format("oom_kill of control group {} grew by {}", group, grown);
    if (below_limits) words += ", and none of its limits was reached";
    if (below_limits && !after.nodes.empty()) {
      words += fmt::format(": its memory is bound to NUMA node {}", after.nodes);
    }
    verdict.evidence.push_back(std::move(words));
  }
  const bool host = before.host && after.host && *after.host > *before.host;
  if (verdict.killed || !host) return verdict;
  verdict.evidence.push_back(
      others.empty()
          ? fmt::format("oom_kill of /proc/vmstat grew by {}: some process of this machine",
                        *after.host - *before.host)
          : fmt::format("kernel log: the out-of-memory killer ended others (pid {})", others));
  return verdict;
}

void note_oom_growth(const OomCounts& before, const OomCounts& after, const KernelLog& log,
                     const std::set<int>& pids, FailureEvidence& evidence) {
  const bool external = !only_others(log, pids).empty();
  if (before.host && after.host) {
    const std::uint64_t grown = *after.host > *before.host ? *after.host - *before.host : 0;
    // The machine's count is another's, too.
    evidence.host_oom_kills = static_cast<std::int64_t>(external ? 0 : grown);
  }
  for (const auto& [group, count] : after.groups) {
    const std::uint64_t grown = external ? 0 : growth_of(before.groups, after.groups, group);
    evidence.cgroup_oom_kills =
        std::max(evidence.cgroup_oom_kills.value_or(0), static_cast<std::int64_t>(grown));
  }
  if (const auto hits = limit_hits(before, after)) {
    evidence.cgroup_limit_hits = static_cast<std::int64_t>(*hits);
  }
  evidence.bound_nodes = after.nodes;
}

OomWatch::OomWatch(FileRoot root) : root_(std::move(root)) {
  before_.host = read_host_count(root_);
  const auto nodes = read_memory_nodes(root_);
  has_nodes_ =
      std::ranges::count_if(nodes, [](const MemoryNode& node) { return node.total_bytes > 0; }) > 1;
  if (const auto bound = has_nodes_ ? binding_nodes(root_) : std::nullopt) {
    before_.nodes = bound->text();
  }
  add_groups("self");
}

// The process's own group, and the limits of all that hold it.
void OomWatch::add_groups(const std::string& pid) {
  const auto path = cgroup_path(root_, "memory", pid);
  if (!path) return;
  // The kernel adds a kill to the victim's own group.
  add_group(path->levels[0].folder);
  before_.hidden_limits = before_.hidden_limits || path->hidden_above;
  for (const CgroupLevel& level : path->levels) {
    const auto hits = read_limit_count(root_, level.folder);
    if (hits) before_.limits.emplace(level.folder, *hits);
  }
}

void OomWatch::add_group(const std::string& folder) {
  if (before_.groups.count(folder) != 0) return;
  if (const auto count = read_count(root_, folder)) before_.groups[folder] = *count;
}

void OomWatch::add_group_file(const std::string& processes_file) {
  add_group(parent_path(processes_file));
}

std::set<int> OomWatch::pids() const {
  std::set<int> all;
  for (const auto& [pid, seen] : seen_) all.insert(pid);
  return all;
}

void OomWatch::look(const std::vector<ProcessFacts>& members, double now) {
  for (auto seen = seen_.begin(); seen != seen_.end();) {
    seen = now - seen->second.alive_at > kForgetSeconds ? seen_.erase(seen) : std::next(seen);
  }
  for (const ProcessFacts& member : members) {
    Seen& seen = seen_[member.pid];
    seen.alive_at = now;
    if (std::exchange(seen.start_ticks, member.start_ticks) == member.start_ticks &&
        member.start_ticks != 0) {
      continue;
    }
    const std::string pid = std::to_string(member.pid);
    const auto text = root_.read("/proc/" + pid + "/cgroup");
    // All ranks of a group have the same text, so it is looked up once.
    if (!text || !memberships_.insert(*text).second) continue;
    add_groups(pid);
  }
  look_at_nodes(members, now);
}

// numactl in a script, mbind: what binds a process is known when it runs.
void OomWatch::look_at_nodes(const std::vector<ProcessFacts>& members, double now) {
  constexpr double kPause = 2;
  if (!has_nodes_ || !before_.nodes.empty() || now < next_nodes_) return;
  next_nodes_ = now + kPause;
  for (const ProcessFacts& member : members) {
    const auto bound = bound_by_policy(root_, std::to_string(member.pid));
    if (bound) before_.nodes = bound->text();
  }
}

OomCounts OomWatch::now() const {
  OomCounts counts;
  counts.host = read_host_count(root_);
  for (const auto& [folder, before] : before_.groups) {
    if (const auto count = read_count(root_, folder)) counts.groups[folder] = *count;
  }
  for (const auto& [folder, before] : before_.limits) {
    if (const auto hits = read_limit_count(root_, folder)) counts.limits[folder] = *hits;
  }
  counts.hidden_limits = before_.hidden_limits;
  counts.nodes = before_.nodes;
  return counts;
}

std::vector<std::string> lines_since(const std::string& log, double since_seconds) {
  std::vector<std::string> lines;
  for (const std::string& line : split(log, '\n')) {
    const std::size_t open = line.find('[');
    const std::size_t close = line.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    const auto stamp =
        parse_number(trim(std::string_view(line).substr(open + 1, close - open - 1)));
    // The two clocks differ a little: a second of tolerance.
    if (stamp && *stamp >= since_seconds - 1) lines.push_back(valid_utf8(line.substr(open)));
  }
  return lines;
}

KernelLog kernel_log_since(double since_seconds) {
  constexpr int kReadAll = 3;
  constexpr int kSizeOfBuffer = 10;
  KernelLog kernel_log;
  if (!in_initial_pid_namespace()) return kernel_log;  // it names pids of another namespace
  const int size = ::klogctl(kSizeOfBuffer, nullptr, 0);
  if (size <= 0) return kernel_log;
  std::string log(static_cast<std::size_t>(size), '\0');
  const int got = ::klogctl(kReadAll, log.data(), size);
  if (got <= 0) return kernel_log;
  log.resize(static_cast<std::size_t>(got));
  kernel_log.readable = true;
  kernel_log.lines = lines_since(log, since_seconds);
  return kernel_log;
}

}  // namespace ocrtune
