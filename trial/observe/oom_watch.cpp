#include "trial/observe/oom_watch.h"

#include <sys/klog.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

std::optional<std::uint64_t> count_of(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.size() != 2 || parts[0] != name) continue;
    const auto number = parse_integer(parts[1]);
    if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  }
  return std::nullopt;
}

// "Out of memory: Killed process 812 (python) ...", "Memory cgroup out of memory: Killed process".
bool names_one_of(const std::string& line, const std::vector<int>& pids) {
  const std::string marker = "Killed process ";
  const std::size_t at = line.find(marker);
  if (at == std::string::npos) return false;
  const int pid = std::atoi(line.c_str() + at + marker.size());  // NOLINT(cert-err34-c)
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

OomCounts read_oom_counts(const FileRoot& root) {
  OomCounts counts;
  const auto vmstat = root.read("/proc/vmstat");
  if (vmstat) counts.host = count_of(*vmstat, "oom_kill");
  const auto path = cgroup_path(root, "memory");
  if (!path) return counts;
  for (const CgroupLevel& level : path->levels) {
    const char* file = path->version == 2 ? "memory.events" : "memory.oom_control";
    const auto text = root.read(join_path(level.folder, file));
    const auto count = text ? count_of(*text, "oom_kill") : std::nullopt;
    if (count) counts.groups[level.name] = *count;
  }
  return counts;
}

OomVerdict judge_oom(const OomCounts& before, const OomCounts& after,
                     const std::vector<std::string>& kernel_log, const std::vector<int>& pids) {
  OomVerdict verdict;
  for (const std::string& line : kernel_log) {
    if (!names_one_of(line, pids)) continue;
    verdict.killed = true;
    verdict.cause = line.find("cgroup") != std::string::npos ? "cgroup" : "host";
    verdict.evidence.push_back("kernel log: " + line);
  }
  for (const auto& [group, count] : after.groups) {
    const auto then = before.groups.find(group);
    if (then == before.groups.end() || count <= then->second) continue;
    verdict.killed = true;
    if (verdict.cause.empty()) verdict.cause = "cgroup";
    verdict.evidence.push_back(
        fmt::format("oom_kill of control group {} grew by {}", group, count - then->second));
  }
  if (before.host && after.host && *after.host > *before.host) {
    verdict.killed = true;
    if (verdict.cause.empty()) verdict.cause = "host";
    verdict.evidence.push_back(
        fmt::format("oom_kill of /proc/vmstat grew by {}", *after.host - *before.host));
  }
  return verdict;
}

void note_oom_growth(const OomCounts& before, const OomCounts& after, FailureEvidence& evidence) {
  if (before.host && after.host) {
    evidence.host_oom_kills = static_cast<std::int64_t>(*after.host - *before.host);
  }
  for (const auto& [group, count] : after.groups) {
    const auto was = before.groups.find(group);
    const auto grown =
        static_cast<std::int64_t>(count - (was == before.groups.end() ? count : was->second));
    evidence.cgroup_oom_kills = std::max(evidence.cgroup_oom_kills.value_or(0), grown);
  }
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

std::vector<std::string> kernel_log_since(double since_seconds) {
  constexpr int kReadAll = 3;
  constexpr int kSizeOfBuffer = 10;
  const int size = ::klogctl(kSizeOfBuffer, nullptr, 0);
  if (size <= 0) return {};
  std::string log(static_cast<std::size_t>(size), '\0');
  const int got = ::klogctl(kReadAll, log.data(), size);
  if (got <= 0) return {};
  log.resize(static_cast<std::size_t>(got));
  return lines_since(log, since_seconds);
}

}  // namespace ocrtune
