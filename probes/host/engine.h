// What a container engine left this process: controllers that it was given, calls that it may make.
//
// Rootless engines limit only what was delegated to the user (often memory and pids), and seccomp
// profiles older than a call answer it with EPERM, which programs take for a lack of rights.
// Sources: cgroups(7) "Delegation", seccomp(2), systemd.resource-control(5) Delegate=.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct EngineFacts {
  Fact<bool> rootless;                   // root in here is an ordinary user outside
  std::vector<std::string> controllers;  // of cgroup v2 that this group was given
  Fact<std::string> seccomp;             // "off", "strict", "filter"
  std::vector<std::string>
      refused_calls;  // answered with EPERM: "clone3", "mbind", "perf_event_open"
};

// Calls are tried on a live root alone, with arguments that do nothing. `container`: its kind, or
// "none"; what a container lacks is warned of.
EngineFacts read_engine(const FileRoot& root, const Fact<std::string>& container, Notes& notes);

// A row for each fact that is known.
std::vector<SystemSetting> engine_settings(const EngineFacts& engine);

}  // namespace ocrtune
