// Two threads: one listens to the launcher, so that the end of the input ends the work too. The
// main thread answers one request after the other. A table maps each request to its function.
#include "extras/hosts/agent.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_text.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/plural.h"
#include "base/text.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/agents.h"
#include "extras/hosts/former_agent.h"
#include "extras/hosts/host_attempt.h"
#include "extras/hosts/host_card.h"
#include "extras/hosts/host_guard.h"
#include "extras/hosts/host_trial.h"
#include "extras/hosts/pair_socket.h"
#include "extras/hosts/seeded_step.h"
#include "extras/supervise/background_writer.h"
#include "probes/host/machine_lock.h"
#include "probes/host/nics.h"
#include "probes/probe.h"
#include "trial/free_port.h"
#include "trial/observe/memory_sampler.h"
#include "trial/workloads/command/command_runner.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

constexpr double kMaxSilenceSeconds = 3600;  // whatever a launcher asks for

std::mutex& output() {  // the listening thread gives its signs of life in between
  static std::mutex mutex;
  return mutex;
}

Status write_line(const std::string& line) {
  const std::lock_guard lock(output());
  return write_all(STDOUT_FILENO, line + "\n", "standard output");
}

// Where nobody reads any more it is left out: who waits for a reader does not listen.
Status give_sign_of_life() {
  const std::unique_lock lock(output(), std::try_to_lock);
  pollfd room{STDOUT_FILENO, POLLOUT, 0};
  if (!lock || ::poll(&room, 1, 0) <= 0) return Status();
  return write_all(STDOUT_FILENO, "\n", "standard output");
}

Status say(const Json& json) {
  return write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Of an attempt's plan, else of a trial's command.
double grace_of(const Json& request) {
  constexpr double kMaxGraceSeconds = 24 * 3600;
  const double own = message_field(request, "stop_grace_seconds", 0.0);
  const Json plan = message_field(request, "plan", Json());
  return std::clamp(message_field(plan, "stop_grace_seconds", own), 0.0, kMaxGraceSeconds);
}

// Requests as they come in. Work is done by the main thread, whose children die with it; a thread
// of its own listens, so that an end of the input ends the work too.
class Inbox {
 public:
  Json next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    here_.wait(lock, [this] { return !requests_.empty(); });
    Json request = std::move(requests_.front());
    requests_.pop_front();
    const std::string ask = message_field<std::string>(request, "ask", "");
    busy_ = ask == "trial" || ask == "attempt";
    grace_seconds_ = grace_of(request);
    return request;
  }

  // "end" is about all that was asked before it.
  void put(Json request) {
    const std::lock_guard lock(mutex_);
    if (message_field<std::string>(request, "tell", "") == "end") {
      ended_ = last_;
      return;
    }
    last_ = message_field(request, "id", std::int64_t{0});
    // The launcher may allow more silence for work that is worth it, never less.
    silence_seconds_ = std::clamp(message_field(request, "silence_seconds", kAgentSilenceSeconds),
                                  kAgentSilenceSeconds, kMaxSilenceSeconds);
    requests_.push_back(std::move(request));
    here_.notify_one();
  }

  void end_all() { ended_ = std::numeric_limits<std::int64_t>::max(); }
  bool ended(std::int64_t id) const { return id <= ended_; }
  bool busy() const { return busy_; }                          // with what takes some time to end
  double silence_seconds() const { return silence_seconds_; }  // that the launcher allows itself
  double grace_seconds() const { return grace_seconds_; }      // of the work that goes on

 private:
  std::mutex mutex_;
  std::condition_variable here_;
  std::deque<Json> requests_;
  std::int64_t last_ = 0;
  std::atomic<std::int64_t> ended_ = -1;
  std::atomic<bool> busy_ = false;
  std::atomic<double> silence_seconds_ = kAgentSilenceSeconds;
  std::atomic<double> grace_seconds_ = 0;
};

Inbox& inbox() {
  static Inbox& one = *new Inbox;  // nobody joins the listening thread
  return one;
}

// Ends the process with all that it does: its work has the grace that the launcher gave it to stop
// what it started, and some seconds to tidy up; then its guard kills what is left.
[[noreturn]] void leave() {
  constexpr auto kLook = std::chrono::milliseconds(20);
  tell_leaving();
  inbox().end_all();
  const double end = steady_seconds() + agent_leave_seconds(inbox().grace_seconds());
  while (inbox().busy() && steady_seconds() < end) std::this_thread::sleep_for(kLook);
  release_run();
  // Not exit(): destructors could wait for work that hangs.
  ::_exit(interrupted() ? 128 + SIGTERM : 0);
}

[[noreturn]] void listen_to_launcher() {
  LineSplitter splitter(16 << 20);
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  double heard = steady_seconds();
  while (!interrupted() && steady_seconds() - heard < inbox().silence_seconds()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    constexpr int kPollMilliseconds = 200;
    if (::poll(&input, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    heard = steady_seconds();
    splitter.add(std::string_view(block.data(), static_cast<std::size_t>(got)),
                 [](const std::string& line) {
                   Json request = Json::parse(line, nullptr, false);
                   if (request.is_object()) inbox().put(std::move(request));
                 });
    if (!give_sign_of_life()) break;  // one for one
  }
  leave();
}

Json answer_card(const Json& request) {
  const auto card = read_host_card(parse_card_request(request.dump()));
  if (!card) return {{"error", valid_utf8(card.error().what)}};
  return Json::parse(host_card_json(*card));
}

Json answer_clock(const Json&) { return {{"unix_seconds", wall_seconds()}}; }

Json answer_step(const Json& request) {
  const auto rates = seeded_step_rates(message_field(request, "threads", 1));
  if (!rates) return {{"error", valid_utf8(rates.error().what)}};
  return {{"rates", *rates}};
}

// Between "listen" and "receive".
std::optional<PairListener>& open_listener() {
  static std::optional<PairListener> listener;
  return listener;
}

Json answer_listen(const Json& request) {
  open_listener().reset();
  auto listener = PairListener::open(message_field<std::string>(request, "address", ""));
  if (!listener) return {{"error", valid_utf8(listener.error().what)}};
  open_listener().emplace(std::move(*listener));
  return {{"port", open_listener()->port()}};
}

Json answer_receive(const Json& request) {
  if (!open_listener()) return {{"error", "receive without listen"}};
  const auto rate = open_listener()->receive(message_field<std::string>(request, "token", "?"),
                                             message_field(request, "seconds", 0.0));
  open_listener().reset();
  if (!rate) return {{"error", valid_utf8(rate.error().what)}};
  return {{"bytes_per_second", *rate}};
}

Json answer_send(const Json& request) {
  const auto latency = send_pair(
      message_field<std::string>(request, "from", ""),
      message_field<std::string>(request, "to", ""), message_field(request, "port", 0),
      message_field<std::string>(request, "token", ""), message_field(request, "seconds", 0.0));
  if (!latency) return {{"error", valid_utf8(latency.error().what)}};
  return {{"latency_seconds", *latency}};
}

// This host's turn to be measured, kept until the end; who has it, where it is not free. On the
// launcher's own machine the launcher takes it.
Json answer_turn(const Json& request) {
  static std::optional<MachineLock> turn;
  if (turn || message_field<std::string>(request, "launcher_boot", "") == boot_id()) return {};
  std::string holder;
  auto taken = MachineLock::take(false, [&](const std::string& who) { holder = who; });
  if (taken)
    turn.emplace(std::move(*taken));
  else if (holder.empty())
    return {{"error", valid_utf8(taken.error().what)}};
  return {{"holder", valid_utf8(holder)}, {"boot", boot_id()}};
}

Json answer_port(const Json&) {
  const std::string name = host_name();
  return {{"port", free_port()}, {"address", resolve_names({name})[name]}};
}

// The card's limit, or less where the trial's own is.
std::uint64_t own_limit(const Machine& machine, std::uint64_t limit) {
  for (const double bytes : {machine.memory.limit_bytes.value_or(0),
                             static_cast<double>(machine.memory.available_bytes)}) {
    const auto own = static_cast<std::uint64_t>(bytes);
    if (own > 0 && (limit == 0 || own < limit)) limit = own;
  }
  return limit;
}

// Probed once.
const Result<Machine>& this_machine() {
  static const Result<Machine> machine = [] {
    ProbeOptions quick;
    quick.quick = true;
    return probe_machine(quick);
  }();
  return machine;
}

void add_links_down(const LinkWatch& links, Trial& trial) {
  trial.links_down = links.down();
  if (trial.links_down.empty()) return;
  trial.evidence.push_back("network interface down: " + join(trial.links_down, ", "));
}

// This host's part of a trial.
Json answer_trial(const Json& request) {
  const Result<Machine>& machine = this_machine();
  if (!machine) return {{"error", valid_utf8(machine.error().what)}};
  auto asked = parse_host_trial(request.dump());
  if (!asked) return {{"error", valid_utf8(asked.error().what)}};
  inherit(*asked);
  // By the request's number: an "end" that comes late must not stop the next work.
  const auto ended = [id = message_field(request, "id", std::int64_t{0})] {
    return inbox().ended(id);
  };
  const LinkWatch links;
  if (asked->guards) {
    Trial trial = guard_memory(host_available_bytes, ended);
    add_links_down(links, trial);
    return Json::parse(part_json(trial));
  }
  PreparedCommand command;
  command.workload = asked->workload;
  command.print_interval = asked->print_interval;
  HostPart part;
  part.place = asked->place;
  part.trial.follows = asked->follows();
  NicMeter meter;  // until it is measured
  bool measured = false;
  part.trial.ended = [&] {
    if (!measured && !asked->follows()) meter.look(steady_clock().now_seconds());
    return ended();
  };
  part.trial.measured = [&] {
    measured = true;
    (void)say({{"event", "measured"}}).ok();
  };
  TrialLimits limits = asked->limits;
  limits.memory_limit_bytes = own_limit(*machine, limits.memory_limit_bytes);
  const auto runner = make_command_runner(command, *machine, SilenceRule(), part);
  Trial trial = runner->run(asked->knobs, limits);
  double seconds = 0;
  for (const Sample& sample : trial.samples) seconds += sample.seconds;
  const bool meets = nodes_of(asked->knobs) > 1 && measured;
  if (meets) trial.network_bytes_per_second = meter.bytes_per_second(seconds);
  add_links_down(links, trial);
  return Json::parse(part_json(trial));
}

std::string output_line(const std::string& text) {
  const Json event = {{"event", "output"}, {"text", text}};
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What is told while a job runs, written in the background: the link to the launcher may stand for
// minutes, and the job and its watch go on.
class ToldLines {
 public:
  void put(const std::string& line) {
    if (!writer_.put(line.size(), [line] { (void)write_line(line).ok(); })) ++left_out_;
  }
  // What comes next must stand behind all of it.
  void finish() {
    writer_.finish(inbox().silence_seconds());
    if (left_out_ == 0) return;
    put(output_line(fmt::format("\n({} of output are left out: the link to the launcher stood)\n",
                                how_many(left_out_, "piece"))));
    writer_.finish(inbox().silence_seconds());
  }

 private:
  std::int64_t left_out_ = 0;
  BackgroundWriter writer_;
};

// This host's part of an attempt, whose output is told as it comes.
Json answer_attempt(const Json& request) {
  hold_run(message_field<std::string>(request, "run", ""));
  const Result<Machine>& machine = this_machine();
  if (!machine) return error_json(machine.error());
  const auto plan = parse_host_attempt(request.dump(), *machine);
  if (!plan) return error_json(plan.error());
  AttemptListeners listeners;
  ToldLines told;
  listeners.on_output = [&told](std::string_view bytes) {
    told.put(output_line(utf8_of_bytes(bytes)));
  };
  listeners.on_status = [&told](const AttemptStatus& status) {
    told.put(attempt_status_json(status));
  };
  listeners.ended = [id = message_field(request, "id", std::int64_t{0})] {
    return inbox().ended(id);
  };
  const LinkWatch links;
  auto end = run_attempt(*plan, listeners);
  told.finish();
  if (!end) return error_json(end.error());
  end->links_down = links.down();
  return Json::parse(attempt_end_json(*end));
}

Json answer_succeed(const Json& request) {
  const Status ended =
      end_former_agent(message_field<std::string>(request, "run", ""), grace_of(request));
  return ended ? Json::object() : error_json(ended.error());
}

Json answer(const Json& request) {
  static const std::map<std::string, Json (*)(const Json&)> kAnswers = {
      {"card", answer_card},     {"clock", answer_clock},     {"step", answer_step},
      {"listen", answer_listen}, {"receive", answer_receive}, {"send", answer_send},
      {"port", answer_port},     {"trial", answer_trial},     {"attempt", answer_attempt},
      {"turn", answer_turn},     {"succeed", answer_succeed},
  };
  const auto found = kAnswers.find(message_field<std::string>(request, "ask", ""));
  if (found == kAnswers.end()) return {{"error", "unknown request"}};
  return found->second(request);
}

}  // namespace

Result<int> run_agent(const std::string& version) {
  OCRTUNE_TRY(write_line(""));  // ends what a login shell may have left open
  OCRTUNE_TRY(say({{"event", "hello"},
                   {"version", version},
                   {"protocol", kAgentProtocol},
                   {"pid", ::getpid()}}));
  // The hello goes out first: nothing else may stand before it.
  std::thread(listen_to_launcher).detach();
  for (;;) {
    const Json request = inbox().next();
    Json reply = answer(request);
    if (interrupted()) continue;  // by whom the launcher does not know: for it this host is lost
    reply["id"] = message_field(request, "id", std::int64_t{0});
    if (const Status told = say(reply); !told) {
      release_run();
      return told.error();
    }
  }
}

}  // namespace ocrtune
