// ocrtune check, and where it gets the configurations of other hosts.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/hosts_door.h"
#include "extras/consistency/flat_config.h"

namespace ocrtune {

CommandRun declare_check(Flags& cli);

struct HostConfigs {
  std::vector<FlatConfig> configs;
  std::vector<std::string> notes;  // what a host could not collect
};

struct ConfigRequest {
  std::vector<std::string> paths;  // absolute, the same on each host
  std::string python;              // whose packages are listed
  bool quiet = false;              // nothing is drawn meanwhile
};

// `check --hosts`; the extra `hosts` gives it. missing: a host that does not answer.
using AskHostConfigs = Result<HostConfigs> (*)(const HostFlags& flags,
                                               const ConfigRequest& request);
void set_host_configs(AskHostConfigs ask);

}  // namespace ocrtune
