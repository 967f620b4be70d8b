// The launcher's side: one process and one pipe a host, non-blocking, and a thread that only sends
// signs of life. All reading is done by listen(), which is also where a host is found to be lost.
#include "extras/hosts/agents.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "base/text.h"
#include "extras/hosts/agent_messages.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

// Bounds what another host's words may take of memory (guess).
constexpr std::size_t kMaxLine = 16 << 20;
constexpr std::size_t kMaxStarting = 64;  // at once: a launcher is no light process
constexpr double kBeatSeconds = 2;
constexpr double kPollSeconds = 0.1;
constexpr double kFarewellSeconds = 3;

}  // namespace

struct Agents::Agent {
  std::string host;
  std::optional<Process> process;
  int input = -1;      // of the agent; we write
  std::string unsent;  // what its pipe has not taken yet
  double started = 0;
  LineSplitter lines{kMaxLine};
  std::string last_words;  // what the launcher or a shell said
  std::string session;     // folder of its mpirun
  bool greeted = false;
  double heard = 0;
  std::deque<std::pair<std::string, std::string>> events;  // name, line
  std::string lost;
  std::int64_t awaited = 0;  // id of the request that is open; 0: none
  std::string reply;

  bool alive() const { return lost.empty() && process.has_value(); }
  ~Agent() {
    close_input();
    process.reset();
    if (!session.empty()) (void)remove_tree(session);
  }

  void close_input() {
    if (input >= 0) ::close(input);
    input = -1;
  }

  void take(const std::string& line, const std::string& version) {
    AgentLine said = parse_agent_line(line);
    if (said.kind == AgentLine::Kind::words) {
      // mpirun frames what it says with lines of dashes.
      if (line.find_first_not_of("- ") != line.npos) last_words = valid_utf8(line).substr(0, 300);
    } else if (said.kind == AgentLine::Kind::hello) {
      greeted = true;
      if (said.version != version || said.protocol != kAgentProtocol) {
        lost = fmt::format(
            "runs ocrtune {}, this is {}: unpack the same archive of scripts/portable on all hosts",
            said.version, version);
      }
    } else if (said.kind == AgentLine::Kind::event) {
      events.emplace_back(std::move(said.event), line);
    } else if (awaited != 0 && said.id == awaited) {
      reply = line;
      awaited = 0;
    }
  }

  // As much as the pipe takes now; the rest follows as it has room. False: nobody reads any more.
  bool flush() {
    while (!unsent.empty()) {
      const ssize_t put = ::write(input, unsent.data(), unsent.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return errno == EAGAIN;
      unsent.erase(0, static_cast<std::size_t>(put));
    }
    return true;
  }
  bool write(const std::string& text) {
    unsent += text;
    return flush();
  }
  // An agent that is stopped leaves the pipe full: then the beat is dropped.
  void beat() {
    if (unsent.empty()) unsent = "\n";
    (void)flush();  // a launcher that has ended is seen by its exit
  }

  Status start(const AgentOptions& options, std::mutex& inputs) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "open a pipe");
    // Our end alone: a host that does not read must not stop the others.
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    ProcessOptions launch;
    launch.arguments = remote_command(options.launcher, host, options.program, {"node"});
    launch.input = ends[0];
    if (options.launcher == Launcher::mpirun && session.empty()) {
      if (auto folder = make_temporary_directory("mpirun")) session = *std::move(folder);
    }
    if (!session.empty()) {
      // One that ends removes the folder that all of a user share, from below one that starts. By
      // the names of Open MPI 4 and 5.
      launch.environment = {{"OMPI_MCA_orte_local_tmpdir_base", session},
                            {"PRTE_MCA_prte_local_tmpdir_base", session}};
    }
    auto made = Process::start(launch);
    ::close(ends[0]);
    {
      const std::lock_guard lock(inputs);
      input = ends[1];
    }
    if (!made) return made.error();
    process.emplace(std::move(*made));
    started = steady_seconds();
    return Status();
  }
};

Agents::Agents() {
  std::random_device random;
  key_ = fmt::format("{:08x}{:08x}", random(), random());
}

std::string Agents::run_key(std::size_t host) const { return fmt::format("{}.{}", key_, host); }

// In a thread of its own, for the other one may search or wait between two trials.
void Agents::keep_beating() {
  std::unique_lock lock(inputs_);
  while (!end_.wait_for(lock, std::chrono::duration<double>(kBeatSeconds),
                        [this] { return ending_; })) {
    for (const auto& agent : agents_) {
      if (agent->input >= 0) agent->beat();
    }
  }
}

Agents::~Agents() {
  {
    const std::lock_guard lock(inputs_);
    ending_ = true;
    for (auto& agent : agents_) agent->close_input();
  }
  end_.notify_one();
  if (beats_.joinable()) beats_.join();
  const double end = steady_seconds() + kFarewellSeconds;
  for (auto& agent : agents_) {
    if (!agent->process) continue;
    agent->process->wait(std::max(0.0, end - steady_seconds()));
    if (agent->process->poll_exit()) continue;
    agent->process->signal(SIGTERM);  // mpirun and srun end what they started
    agent->process->wait(1);
  }
}

const std::vector<HostName>& Agents::hosts() const { return hosts_; }
bool Agents::alive(std::size_t host) const { return agents_[host]->alive(); }
const std::string& Agents::lost_reason(std::size_t host) const { return agents_[host]->lost; }

std::vector<std::size_t> Agents::living() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (alive(i)) all.push_back(i);
  }
  return all;
}

void Agents::lose(Agent& agent, std::string reason) {
  agent.lost = std::move(reason);
  const std::lock_guard lock(inputs_);
  agent.close_input();
}

void Agents::give_up(std::size_t host, std::string reason) {
  if (alive(host)) lose(*agents_[host], std::move(reason));
}

void Agents::listen() {
  // Who did not listen cannot say that nothing was heard.
  if (steady_seconds() - listened_ > kBeatSeconds) listening_since_ = steady_seconds();
  std::vector<pollfd> polled;
  {
    const std::lock_guard lock(inputs_);
    for (const auto& agent : agents_) {
      if (agent->alive() && agent->process->output_descriptor() >= 0) {
        polled.push_back({agent->process->output_descriptor(), POLLIN, 0});
      }
      if (agent->input < 0 || agent->unsent.empty()) continue;
      (void)agent->flush();
      if (!agent->unsent.empty()) polled.push_back({agent->input, POLLOUT, 0});
    }
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(1000 * kPollSeconds));
  listened_ = steady_seconds();
  for (const auto& agent : agents_) {
    if (!agent->alive()) continue;
    agent->process->read_output([&](std::string_view piece) {
      // Any output counts, be it words of a shell.
      agent->heard = listened_;
      agent->lines.add(piece,
                       [&](const std::string& line) { agent->take(line, options_.version); });
    });
    const auto& exit = agent->process->poll_exit();
    if (exit && agent->process->output_descriptor() < 0 && agent->lost.empty()) {
      lose(*agent,
           fmt::format("{} ended with {}{}{}", launcher_name(options_.launcher), exit->text(),
                       agent->last_words.empty() ? "" : ": ", agent->last_words));
    } else if (agent->greeted && agent->lost.empty() &&
               listened_ - std::max(agent->heard, listening_since_) > silence_seconds_) {
      lose(*agent, fmt::format("silent for {}: stopped, overloaded or cut off",
                               format_duration(silence_seconds_)));
    }
  }
}

Result<std::unique_ptr<Agents>> Agents::start(std::vector<HostName> hosts, AgentOptions options) {
  if (hosts.empty()) return Error{ErrorKind::usage, "--hosts: names no host"};
  std::unique_ptr<Agents> agents(new Agents);
  agents->options_ = std::move(options);
  agents->hosts_ = std::move(hosts);
  for (const HostName& host : agents->hosts_) {
    agents->agents_.push_back(std::make_unique<Agent>());
    agents->agents_.back()->host = host.name;
  }
  agents->beats_ = std::thread([all = agents.get()] { all->keep_beating(); });
  for (auto& agent : agents->agents_) {
    for (;;) {
      if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
      const auto starting =
          std::count_if(agents->agents_.begin(), agents->agents_.end(),
                        [](const auto& one) { return one->alive() && !one->greeted; });
      // The next one starts as soon as an earlier one has said hello or is lost.
      if (static_cast<std::size_t>(starting) < kMaxStarting) break;
      OCRTUNE_TRY(agents->wait_until(kPollSeconds, [](const Agent& one) { return one.greeted; }));
    }
    agents->launch(*agent);
  }
  OCRTUNE_TRY(agents->await_hellos());
  return agents;
}

void Agents::launch(Agent& agent) {
  const auto started = agent.start(options_, inputs_);
  if (!started) lose(agent, started.error().what);
}

Status Agents::await_hellos() {
  OCRTUNE_TRY(wait_until(options_.deadline_seconds, [](const Agent& one) { return one.greeted; }));
  for (auto& agent : agents_) {
    if (agent->alive() && !agent->greeted) {
      lose(*agent, fmt::format("no answer within {} of its start{}{}",
                               format_duration(options_.deadline_seconds),
                               agent->last_words.empty() ? "" : ": ", agent->last_words));
    }
  }
  return Status();
}

Status Agents::restart(std::size_t host) {
  auto fresh = std::make_unique<Agent>();
  fresh->host = hosts_[host].name;
  {
    const std::lock_guard lock(inputs_);
    agents_[host]->close_input();
    std::swap(agents_[host], fresh);
  }
  fresh.reset();  // the launcher of the old one, if it still runs
  launch(*agents_[host]);
  return await_hellos();
}

Status Agents::wait_until(double seconds, bool (*done)(const Agent&)) {
  const double end = steady_seconds() + seconds;
  for (;;) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    const bool all = std::all_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
      return !agent->alive() || done(*agent);
    });
    if (all || steady_seconds() >= end) return Status();
    listen();
  }
}

void Agents::send(const AgentRequest& request) {
  Agent& agent = *agents_[request.host];
  if (!agent.alive()) return;
  Json json = Json::parse(request.body);
  if (json.contains("ask")) {
    // Answers to earlier requests, which were given up, have other numbers and are dropped.
    agent.awaited = json["id"] = ++last_id_;
    json["silence_seconds"] = silence_seconds_;
    agent.reply.clear();
    // What the host told of earlier work is not this work's.
    agent.events.clear();
  }
  std::unique_lock lock(inputs_);
  const bool taken = agent.write(json.dump() + "\n");
  lock.unlock();
  if (!taken) lose(agent, "its agent takes no request");
}

std::optional<std::string> Agents::take_reply(std::size_t host) {
  Agent& agent = *agents_[host];
  if (agent.awaited != 0 || agent.reply.empty()) return std::nullopt;
  return std::exchange(agent.reply, "");
}

std::optional<std::string> Agents::take_event(std::size_t host, const std::string& event) {
  auto& events = agents_[host]->events;
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const auto& one) { return one.first == event; });
  if (found == events.end()) return std::nullopt;
  std::string line = std::move(found->second);
  events.erase(found);
  return line;
}

Result<std::vector<std::string>> Agents::ask(const std::vector<AgentRequest>& requests,
                                             double work_seconds) {
  for (const AgentRequest& request : requests) send(request);
  OCRTUNE_TRY(wait_until(work_seconds + options_.deadline_seconds,
                         [](const Agent& one) { return one.awaited == 0; }));
  std::vector<std::string> replies;
  for (const AgentRequest& request : requests) {
    Agent& agent = *agents_[request.host];
    if (agent.alive() && agent.awaited != 0) {
      lose(agent, fmt::format("no answer within {}: stopped, overloaded or cut off",
                              format_duration(work_seconds + options_.deadline_seconds)));
    }
    replies.push_back(agent.alive() ? std::exchange(agent.reply, "") : "");
  }
  return replies;
}

}  // namespace ocrtune
