// Files say what was delegated; refused calls are only found by making them. Each is made with
// arguments that the kernel itself refuses, so EPERM can come from a filter alone.
#include "probes/host/engine.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

// uid_map: "inside outside count"; root inside that is somebody else outside. An engine maps a
// range for its images' users, a sandbox (bubblewrap, unshare) its own user alone.
Fact<bool> read_rootless(const FileRoot& root) {
  const std::string marks = root.read("/run/.containerenv").value_or("");
  if (marks.find("rootless=1") != std::string::npos) return {true, "/run/.containerenv"};
  if (marks.find("rootless=0") != std::string::npos) return {false, "/run/.containerenv"};
  const auto map = root.read("/proc/self/uid_map");
  const auto fields = map ? words(*map) : std::vector<std::string>();
  if (fields.size() < 3) return {std::nullopt, "/proc/self/uid_map cannot be read"};
  const bool one_user = fields.size() == 3 && fields[2] == "1";
  return {fields[0] == "0" && fields[1] != "0" && !one_user, "/proc/self/uid_map"};
}

Fact<std::string> read_seccomp(const FileRoot& root) {
  const std::string status = root.read("/proc/self/status").value_or("");
  const auto mode = status_value(status, "Seccomp");
  if (!mode) return {std::nullopt, "/proc/self/status has no Seccomp"};
  const char* name = *mode == "0" ? "off" : *mode == "1" ? "strict" : "filter";
  return {name, "/proc/self/status"};
}

// Of cgroup v2: what the parent hands down to this group. Of v1, also where both are mounted, none.
std::vector<std::string> read_controllers(const FileRoot& root,
                                          const std::optional<CgroupPath>& path) {
  if (!path || path->version != 2) return {};
  return words(root.read(path->levels.front().folder + "/cgroup.controllers").value_or(""));
}

// Arguments that every kernel refuses with another error than EPERM before anything happens.
std::vector<std::string> refused_calls() {
  std::vector<std::string> refused;
  const auto try_call = [&](const char* name, long number, long first, long second, long third) {
    errno = 0;
    if (::syscall(number, first, second, third, 0L, 0L, 0L) == -1 && errno == EPERM) {
      refused.emplace_back(name);
    }
  };
#ifdef SYS_clone3
  try_call("clone3", SYS_clone3, 0, 0, 0);  // EINVAL: no room for its arguments
#endif
  try_call("mbind", SYS_mbind, 1, 0, -1);                         // EINVAL: not at a page's start
  try_call("set_mempolicy", SYS_set_mempolicy, -1, 0, 0);         // EINVAL: no such policy
  try_call("sched_setaffinity", SYS_sched_setaffinity, 0, 0, 0);  // EINVAL: an empty mask
  try_call("perf_event_open", SYS_perf_event_open, 0, 0, -1);     // EFAULT: no attributes
  return refused;
}

void warn(const EngineFacts& engine, Notes& notes) {
  const auto refused = [&](const char* name) {
    return std::find(engine.refused_calls.begin(), engine.refused_calls.end(), name) !=
           engine.refused_calls.end();
  };
  if (refused("clone3")) {
    notes.warnings.emplace_back(
        "the seccomp profile of this container answers clone3 with EPERM: programs of glibc 2.34 "
        "or "
        "newer cannot start threads ('Operation not permitted'); use Docker 20.10.10 or newer, or "
        "a profile that answers ENOSYS");
  }
  if (refused("mbind") || refused("set_mempolicy")) {
    notes.warnings.emplace_back(
        "the seccomp profile of this container refuses memory policies: numactl --membind and "
        "--interleave fail with EPERM; start it with --cap-add SYS_NICE, or bind with "
        "--cpuset-mems");
  }
  if (refused("sched_setaffinity")) {
    notes.warnings.emplace_back(
        "the seccomp profile of this container refuses sched_setaffinity: taskset and ocrtune's "
        "binding have no effect");
  }
}

// "memory 0 112 0" of /proc/cgroups: its last column is 0 where the kernel was booted without.
// Since Linux 6.12 only the command line says so; of two words there the last one counts.
bool is_memory_off(const FileRoot& root) {
  for (const std::string& line : split(root.read("/proc/cgroups").value_or(""), '\n')) {
    const auto fields = words(line);
    if (fields.size() >= 4 && fields[0] == "memory") return fields[3] == "0";
  }
  bool off = false;
  for (const std::string& word : words(root.read("/proc/cmdline").value_or(""))) {
    if (word == "cgroup_disable=memory") off = true;
    if (word == "cgroup_enable=memory") off = false;
  }
  return off;
}

// An ordinary user can be given no group of cgroup v1: podman ignores the limits there.
void warn_of_delegation(const EngineFacts& engine, bool version_2, Notes& notes) {
  if (!version_2) {
    notes.warnings.emplace_back(
        "this host limits by control groups of version 1, of which a rootless container has none: "
        "--cpus, --cpuset-cpus and --memory do nothing; boot with "
        "systemd.unified_cgroup_hierarchy=1, or bind inside with taskset");
    return;
  }
  std::vector<std::string> lacking;
  for (const char* name : {"cpu", "cpuset", "memory"}) {
    const auto& given = engine.controllers;
    if (std::find(given.begin(), given.end(), name) == given.end()) lacking.emplace_back(name);
  }
  if (lacking.empty()) return;
  notes.warnings.push_back(fmt::format(
      "this container's group has no controller {}: limits of that kind fail or do nothing; "
      "delegate: Delegate=cpu cpuset io memory pids in "
      "/etc/systemd/system/user@.service.d/delegate.conf",
      join(lacking, ", ")));
}

}  // namespace

EngineFacts read_engine(const FileRoot& root, const Fact<std::string>& container, Notes& notes) {
  EngineFacts engine;
  engine.rootless = read_rootless(root);
  engine.seccomp = read_seccomp(root);
  const auto path = cgroup_path(root, "memory");
  engine.controllers = read_controllers(root, path);
  if (root.is_live()) engine.refused_calls = refused_calls();
  warn(engine, notes);
  const std::string kind = container.value_or("none");
  const bool version_2 = path && path->version == 2;
  // Others delegate by themselves, and so does Docker's daemon of root that maps users (version 1).
  const bool by_user = kind == "podman" || (kind == "docker" && version_2);
  if (kind != "none" && is_memory_off(root)) {
    notes.warnings.emplace_back(
        "the kernel of this host was started without the memory controller: memory limits of "
        "containers do nothing; boot with cgroup_enable=memory (Raspberry Pi: cmdline.txt)");
  } else if (by_user && engine.rootless.value_or(false)) {
    warn_of_delegation(engine, version_2, notes);
  }
  return engine;
}

std::vector<SystemSetting> engine_settings(const EngineFacts& engine) {
  std::vector<SystemSetting> rows;
  if (engine.rootless.known()) {
    rows.push_back(
        {"engine_rootless", *engine.rootless.value ? "yes" : "no", engine.rootless.source});
  }
  if (!engine.controllers.empty()) {
    rows.push_back({"engine_controllers", join(engine.controllers, " "), "cgroup.controllers"});
  }
  if (engine.seccomp.known())
    rows.push_back({"seccomp", *engine.seccomp.value, engine.seccomp.source});
  if (!engine.refused_calls.empty()) {
    rows.push_back({"refused_calls", join(engine.refused_calls, " "), "answered with EPERM"});
  }
  return rows;
}

}  // namespace ocrtune
