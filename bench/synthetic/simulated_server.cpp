#include "bench/synthetic/simulated_server.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace ocrtune {

SimulatedServer::SimulatedServer(SimulatedService service)
    : service_(std::move(service)), random_(mix_bits(~service_.seed)) {
  OCRTUNE_CHECK(service_.servers > 0 && service_.service_seconds);
  for (int i = 0; i < service_.servers; ++i) free_at_.push(0);
}

double SimulatedServer::finish_of(double start_seconds, double service_seconds) const {
  const double end = start_seconds + service_seconds;
  const double stall = service_.stall_at_seconds;
  if (stall < 0 || end <= stall || start_seconds >= stall + service_.stall_seconds) return end;
  // Begun before the stall: it loses all of it. Begun inside: what is left of it.
  return end + stall + service_.stall_seconds - std::max(start_seconds, stall);
}

void SimulatedServer::restart() {
  ended_.clear();
  connections_ = 0;
  running_ = {};
  free_at_ = {};
  for (int i = 0; i < service_.servers; ++i) free_at_.push(clock_.now_seconds());
}

void SimulatedServer::end_all() {
  ended_ = "the server ended with exit code 3";
  end_seen_at_ = clock_.now_seconds() + service_.end_unseen_seconds;
  std::vector<Completion> lost;
  for (; !running_.empty(); running_.pop()) lost.push_back(running_.top());
  for (const Completion& one : lost) running_.push({one.request, clock_.now_seconds(), false});
}

void SimulatedServer::start(std::uint64_t request, int kind) {
  constexpr double kRefusalSeconds = 1e-3;
  const double now = clock_.now_seconds();
  const std::size_t in_flight = running_.size() + 1;
  const auto limit = [&](int most) {
    return most > 0 && in_flight > static_cast<std::size_t>(most);
  };
  if (ended_.empty() && limit(service_.ends_at - 1)) end_all();
  const bool too_fast = service_.max_rate > 0 && now < next_allowed_;
  if (!ended_.empty() || too_fast || limit(service_.max_in_flight)) {
    running_.push({request, now + kRefusalSeconds, false, ended().empty()});
    return;
  }
  if (service_.max_rate > 0) next_allowed_ = now + 1 / service_.max_rate;
  const bool connects = in_flight > connections_;
  connections_ = std::max(connections_, in_flight);
  const double begin = std::max(now + (connects ? service_.connect_seconds : 0.0), free_at_.top());
  free_at_.pop();
  const double done = finish_of(begin, service_.service_seconds(random_, kind));
  free_at_.push(done);
  const double finish = std::max(done, now + service_.wait_seconds);
  const bool ok = service_.failed_share <= 0 || random_.uniform() >= service_.failed_share;
  failed_ = failed_ || !ok;
  running_.push({request, finish, ok});
  if (service_.blocks_caller) clock_.move_to(finish);
}

void SimulatedServer::collect(double until_seconds, std::vector<Completion>& finished) {
  if (running_.empty() || running_.top().finished_seconds > until_seconds) {
    clock_.move_to(until_seconds);
  } else {
    clock_.move_to(running_.top().finished_seconds);
  }
  while (!running_.empty() && running_.top().finished_seconds <= clock_.now_seconds()) {
    finished.push_back(running_.top());
    running_.pop();
  }
}

std::string SimulatedServer::failure() const { return failed_ ? "refused by the script" : ""; }

}  // namespace ocrtune
