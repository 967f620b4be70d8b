// Everything is read from /proc and the control groups at the moment of a look, so a short peak
// between two looks is missed. Counting all of a user's tasks reads every process of the machine,
// which is why it is done once, at the end.
#include "trial/observe/count_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

// A guess: /proc/PID/fd of each member is listed, which costs more the more is open.
constexpr double kCountSeconds = 2;

// "Max open files            1024                 524288               files"
std::optional<std::int64_t> soft_limit(int pid) {
  const auto limits = read_file(fmt::format("/proc/{}/limits", pid), 1 << 14);
  if (!limits) return std::nullopt;
  for (const std::string& line : split(*limits, '\n')) {
    if (!starts_with(line, "Max open files")) continue;
    const auto columns = words(line.substr(14));
    if (columns.empty()) return std::nullopt;
    // "unlimited" is no number, and such a process is near to no limit.
    const auto value = parse_integer(columns[0]);  // or "unlimited"
    return value ? std::optional<std::int64_t>(*value) : std::nullopt;
  }
  return std::nullopt;
}

double used_share(const CountUse& use) {
  return use.limit > 0 ? static_cast<double>(use.peak) / static_cast<double>(use.limit) : 0;
}

// 0: not there, or no number.
std::uint64_t status_number(std::string_view text, std::string_view key) {
  const auto fields = words(status_value(text, key).value_or(""));
  const std::int64_t number = fields.empty() ? 0 : parse_integer(fields[0]).value_or(0);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number));
}

// The one that is nearer to its limit.
CountUse fuller(const CountUse& a, const CountUse& b) {
  return used_share(b) > used_share(a) ? b : a;
}

}  // namespace

std::optional<CountUse> fullest_file_table(const std::vector<ProcessFacts>& members) {
  std::optional<CountUse> fullest;
  for (const ProcessFacts& member : members) {
    const auto names = list_directory(fmt::format("/proc/{}/fd", member.pid));
    const auto limit = soft_limit(member.pid);
    // Another user's process may not be read and says nothing.
    if (!names || !limit || *limit <= 0) continue;
    const CountUse files{names->size(), static_cast<std::uint64_t>(*limit)};
    fullest = fuller(fullest.value_or(files), files);
  }
  return fullest;
}

CountUse tasks_of_control_groups(const FileRoot& root) {
  CountUse nearest;
  const auto path = cgroup_path(root, "pids");
  if (!path) return nearest;
  // Every level from this process's group to the root may have a limit of its own.
  for (const CgroupLevel& level : path->levels) {
    const auto most = read_cgroup_number(root, join_path(level.folder, "pids.max"));
    const auto now = read_cgroup_number(root, join_path(level.folder, "pids.current"));
    if (!most || !now || *most <= 0) continue;
    nearest =
        fuller(nearest, {static_cast<std::uint64_t>(*now), static_cast<std::uint64_t>(*most)});
  }
  return nearest;
}

CountUse tasks_of_user(const FileRoot& root, unsigned user, std::uint64_t limit) {
  CountUse use{0, limit};
  const auto names = root.list("/proc");
  if (!names) return {};
  for (const std::string& name : *names) {
    if (!parse_integer(name)) continue;
    const auto status = root.read("/proc/" + name + "/status");
    if (!status || !status_value(*status, "Uid") || status_number(*status, "Uid") != user) continue;
    use.peak += status_number(*status, "Threads");
  }
  return use;
}

void CountWatch::look(double now, const std::vector<ProcessFacts>& members, Trial& trial) {
  if (now - counted_ < kCountSeconds) return;
  counted_ = now;
  trial.files = fuller(trial.files, fullest_file_table(members).value_or(CountUse()));
  trial.tasks = fuller(trial.tasks, tasks_of_control_groups(FileRoot()));
}

void CountWatch::finish(const std::vector<ProcessFacts>& members, Trial& trial) const {
  trial.files = fuller(trial.files, fullest_file_table(members).value_or(CountUse()));
  trial.tasks = fuller(trial.tasks, tasks_of_control_groups(FileRoot()));
  rlimit limit{};
  // The kernel does not hold root to RLIMIT_NPROC (getrlimit(2)).
  const bool binds =
      ::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (!binds) return;
  trial.tasks = fuller(trial.tasks, tasks_of_user(FileRoot(), ::getuid(), limit.rlim_cur));
}

}  // namespace ocrtune
