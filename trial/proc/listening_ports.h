// The ports on which the processes of a tree listen, and whether HTTP is spoken there.
//
// Source: proc(5), net/tcp and PID/fd.
#pragma once

#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

// TCP ports on which these processes listen, ascending, each once.
std::vector<int> listening_ports(const std::vector<ProcessFacts>& members);

// The first port on which one of these processes answers HTTP on this machine, with any status; 0:
// none does. A port is waited for a second at each of connecting, asking and reading.
int http_port(const std::vector<ProcessFacts>& members);

}  // namespace ocrtune
