#include "hosts/agent.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/text.h"
#include "hosts/agents.h"
#include "hosts/host_card.h"
#include "hosts/pair_socket.h"
#include "hosts/seeded_step.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

// Requests as they come in. Work is done by the main thread, whose children die with it; a thread
// of its own listens, so that an end of the input ends the work too.
class Inbox {
 public:
  std::string next() {
    std::unique_lock lock(mutex_);
    here_.wait(lock, [this] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

  void put(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    here_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable here_;
  std::deque<std::string> lines_;
};

[[noreturn]] void listen_to_launcher(Inbox& inbox) {
  LineSplitter splitter(16 << 20);
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  double heard = steady_clock().now_seconds();
  while (!interrupted() && steady_clock().now_seconds() - heard < kAgentSilenceSeconds) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    constexpr int kPollMilliseconds = 200;
    if (::poll(&input, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    heard = steady_clock().now_seconds();
    splitter.add(std::string_view(block.data(), static_cast<std::size_t>(got)),
                 [&](const std::string& line) { inbox.put(line); });
  }
  ::_exit(0);
}

Json answer_card(const Json& request) {
  const auto card = read_host_card(parse_card_request(request.dump()));
  if (!card) return {{"error", valid_utf8(card.error().what)}};
  return Json::parse(host_card_json(*card));
}

Json answer_clock(const Json&) { return {{"unix_seconds", wall_seconds()}}; }

Json answer_step(const Json& request) {
  const auto rates = seeded_step_rates(request.value("threads", 1));
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
  auto listener = PairListener::open(request.value("address", ""));
  if (!listener) return {{"error", valid_utf8(listener.error().what)}};
  open_listener().emplace(std::move(*listener));
  return {{"port", open_listener()->port()}};
}

Json answer_receive(const Json& request) {
  if (!open_listener()) return {{"error", "receive without listen"}};
  const auto rate =
      open_listener()->receive(request.value("token", "?"), request.value("seconds", 0.0));
  open_listener().reset();
  if (!rate) return {{"error", valid_utf8(rate.error().what)}};
  return {{"bytes_per_second", *rate}};
}

Json answer_send(const Json& request) {
  const auto latency =
      send_pair(request.value("from", ""), request.value("to", ""), request.value("port", 0),
                request.value("token", ""), request.value("seconds", 0.0));
  if (!latency) return {{"error", valid_utf8(latency.error().what)}};
  return {{"latency_seconds", *latency}};
}

Json answer(const Json& request) {
  static const std::map<std::string, Json (*)(const Json&)> kAnswers = {
      {"card", answer_card},     {"clock", answer_clock},     {"step", answer_step},
      {"listen", answer_listen}, {"receive", answer_receive}, {"send", answer_send},
  };
  const auto found = kAnswers.find(request.value("ask", ""));
  if (found == kAnswers.end()) return {{"error", "unknown request"}};
  return found->second(request);
}

Status say(const Json& json) {
  return write_all(STDOUT_FILENO, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                   "standard output");
}

}  // namespace

Result<int> run_agent(const std::string& version) {
  OCRTUNE_TRY(say({{"event", "hello"},
                   {"version", version},
                   {"protocol", kAgentProtocol},
                   {"pid", ::getpid()}}));
  Inbox inbox;
  std::thread(listen_to_launcher, std::ref(inbox)).detach();
  for (;;) {
    const Json request = Json::parse(inbox.next(), nullptr, false);
    if (!request.is_object()) continue;
    Json reply = answer(request);
    reply["id"] = request.value("id", 0);
    OCRTUNE_TRY(say(reply));
  }
}

}  // namespace ocrtune
