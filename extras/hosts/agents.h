// Agents on other hosts: `ocrtune node`, one a host, asked in JSON lines through the launcher.
//
// The agent speaks first ("hello", with its version). Then each request gets one reply, with the
// request's number. Both ends give a sign of life every 2 s. An agent ends when its input ends or
// when it hears nothing for 10 s, so nothing is left on a host whose launcher was killed. A host
// that does not answer in time or is silent for 10 s is lost until its agent is started anew, with
// the reason; the others go on. Work that is worth more than a measurement bears longer silence.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "extras/hosts/host_list.h"
#include "extras/hosts/launcher.h"

namespace ocrtune {

inline constexpr int kAgentProtocol = 4;
inline constexpr double kAgentSilenceSeconds = 10;  // unless the launcher says otherwise
// In which an agent that lost its launcher ends: the grace of its work, and some to tidy up.
constexpr double agent_leave_seconds(double grace_seconds) { return grace_seconds + 8; }

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
  // By which all agents that these have started on a host know each other (former_agent.h).
  std::string run_key(std::size_t host) const;
  bool alive(std::size_t host) const;
  const std::string& lost_reason(std::size_t host) const;  // empty: alive
  std::vector<std::size_t> living() const;
  void give_up(std::size_t host, std::string reason);  // it is lost from now on
  // A new agent on a host that was lost: its link may have been all that broke. It stays lost where
  // this one does not answer either. interrupted.
  Status restart(std::size_t host);
  // How long both ends bear silence, from the next request on.
  void set_silence(double seconds) { silence_seconds_ = seconds; }

  // The answers, one a request in the same order, as JSON text of an object; empty from a host that
  // is lost or gets lost by not answering within `work_seconds` and the deadline. An agent answers
  // {"error": "..."} where the work itself failed. interrupted: Ctrl-C.
  Result<std::vector<std::string>> ask(const std::vector<AgentRequest>& requests,
                                       double work_seconds);

  // The same for work that is followed while it goes on: send, listen until it is taken. What has
  // no "ask" is told only, without an answer.
  void send(const AgentRequest& request);
  void listen();                                            // up to 0.1 s
  std::optional<std::string> take_reply(std::size_t host);  // to what was sent last
  // The oldest of this name that the agent has told since it was asked, as JSON text.
  std::optional<std::string> take_event(std::size_t host, const std::string& event);

 private:
  struct Agent;
  Agents();
  void launch(Agent& agent);
  Status await_hellos();
  Status wait_until(double seconds, bool (*done)(const Agent&));
  void lose(Agent& agent, std::string reason);
  void keep_beating();

  AgentOptions options_;
  std::string key_;
  std::vector<HostName> hosts_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::int64_t last_id_ = 0;
  double listened_ = 0, listening_since_ = 0;
  double silence_seconds_ = kAgentSilenceSeconds;
  std::mutex inputs_;  // of the agents: two threads write
  bool ending_ = false;
  std::condition_variable end_;
  std::thread beats_;
};

}  // namespace ocrtune
