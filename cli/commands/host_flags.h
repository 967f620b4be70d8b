// --hosts, --launcher and --deadline, the same for every command that works on several hosts.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "hosts/agents.h"

namespace ocrtune {

struct HostFlags {
  bool given = false;
  std::string hosts, launcher = "auto", deadline = "20s";
};

void declare_hosts(Flags& cli, HostFlags& flags);

struct HostChoice {
  std::vector<HostName> hosts;
  AgentOptions options;
};
Result<HostChoice> choose_hosts(const HostFlags& flags);

}  // namespace ocrtune
