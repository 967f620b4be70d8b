// ocrtune run, and its attempts on other hosts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/hosts_door.h"
#include "extras/supervise/supervise.h"

namespace ocrtune {

CommandRun declare_run(Flags& cli);

// `run --hosts`; the extra `hosts` gives it. `on_wait` hears which lost host is waited for, for at
// most `patience_seconds`.
using HostAttempts = AttemptRunner (*)(const std::shared_ptr<OpenHosts>& hosts,
                                       double patience_seconds,
                                       std::function<void(const std::string&)> on_wait);
void set_host_attempts(HostAttempts attempts);

}  // namespace ocrtune
