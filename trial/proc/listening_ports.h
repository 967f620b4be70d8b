// The ports on which the processes of a tree listen, whether HTTP is spoken there, and who listens
// on a port of this machine.
//
// Source: proc(5), net/tcp and PID/fd.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

// TCP ports on which these processes listen, ascending, each once.
std::vector<int> listening_ports(const std::vector<ProcessFacts>& members);

// The first port on which one of these processes answers HTTP on this machine, with any status; 0:
// none does. A port is waited for a second at each of connecting, asking and reading.
int http_port(const std::vector<ProcessFacts>& members);

// A server that somebody else has started: who listens on a port of this machine, and all that
// descend from them. Who belongs to other users is not seen, nor is what runs in a network
// namespace of its own.
class RunningServer {
 public:
  RunningServer() = default;  // none
  explicit RunningServer(int port);

  // The living ones, read anew. This process is none of them.
  std::vector<ProcessFacts> members() const;

 private:
  std::set<std::pair<int, std::uint64_t>> listeners_;  // pid and start
};

}  // namespace ocrtune
