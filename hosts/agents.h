// Agents on other hosts: `ocrtune node`, one a host, asked in JSON lines through the launcher.
//
// The agent speaks first ("hello", with its version). Then each request gets one reply, with the
// request's number. An agent ends when its input ends or when it hears nothing for 10 s, so nothing
// is left on a host whose launcher was killed. Whoever does not answer in time is lost for good,
// with the reason; the others go on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hosts/host_list.h"
#include "hosts/launcher.h"

namespace ocrtune {

inline constexpr int kAgentProtocol = 1;
inline constexpr double kAgentSilenceSeconds = 10;

struct AgentOptions {
  Launcher launcher = Launcher::ssh;
  std::string program;           // this executable
  std::string version;           // that all hosts must have
  double deadline_seconds = 20;  // for a host to start its agent, and for an answer beyond its work
};

// To the agent `host` (an index): an object as JSON text, without "id".
struct AgentRequest {
  std::size_t host = 0;
  std::string body;
};

class Agents {
 public:
  // Starts all and waits for their hellos; see lost() for those that sent none.
  // interrupted; usage: no host.
  static Result<std::unique_ptr<Agents>> start(std::vector<HostName> hosts, AgentOptions options);
  ~Agents();  // ends all: closes their inputs, and after 3 s their launchers
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  const std::vector<HostName>& hosts() const;
  bool alive(std::size_t host) const;
  const std::string& lost_reason(std::size_t host) const;  // empty: alive
  std::vector<std::size_t> living() const;

  // The answers, one a request in the same order, as JSON text of an object; empty from a host that
  // is lost or gets lost by not answering within `work_seconds` and the deadline. An agent answers
  // {"error": "..."} where the work itself failed. interrupted: Ctrl-C.
  Result<std::vector<std::string>> ask(const std::vector<AgentRequest>& requests,
                                       double work_seconds);

 private:
  struct Agent;
  Agents();
  Status wait_until(double seconds, bool (*done)(const Agent&));
  void read_all();
  void lose(Agent& agent, std::string reason);

  AgentOptions options_;
  std::vector<HostName> hosts_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::int64_t last_id_ = 0;
  double last_beat_ = 0;
};

}  // namespace ocrtune
