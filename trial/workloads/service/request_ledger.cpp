// A ring of slots, since requests are started in order and settled in order. Its size doubles when
// the oldest is still open, so memory follows the number under way. finish() is constant time;
// settle() moves a single index.
#include "trial/workloads/service/request_ledger.h"

#include <algorithm>

namespace ocrtune {

RequestLedger::RequestLedger(const std::optional<LatencySlo>& slo, double count_from_seconds,
                             const ServerQueue& queue)
    : count_from_seconds_(count_from_seconds), slots_(4096) {
  if (slo) {
    limit_seconds_ = slo->seconds;
    // Half way between the bare service and the limit: waiting that has not yet become late.
    half_seconds_ = (slo->seconds + std::min(queue.service_seconds, slo->seconds)) / 2;
  }
  if (queue.slots > 0) queue_.emplace(queue);
}

RequestLedger::Fate RequestLedger::fate_of(double latency_seconds) const {
  if (latency_seconds > limit_seconds_) return Fate::over;
  return latency_seconds > half_seconds_ ? Fate::half_over : Fate::in_time;
}

std::uint64_t RequestLedger::start(double intended_seconds, int kind) {
  if (next_ - oldest_ == slots_.size()) grow();
  const Fate expected = queue_ ? fate_of(queue_->latency_seconds(intended_seconds)) : Fate::in_time;
  slot(next_) = {intended_seconds, kind, Fate::open, false, expected};
  return next_++;
}

std::optional<RequestLedger::Request> RequestLedger::finish(std::uint64_t number,
                                                            double finished_seconds, bool ok) {
  if (number < oldest_ || number >= next_ || slot(number).finished) return std::nullopt;
  Slot& at = slot(number);
  at.finished = true;
  ++finished_;
  const double latency = finished_seconds - at.intended_seconds;
  if (at.fate == Fate::open) at.fate = ok ? fate_of(latency) : Fate::over;
  return Request{at.intended_seconds, at.kind, at.intended_seconds >= count_from_seconds_};
}

void RequestLedger::settle(double now_seconds) {
  for (; judged_up_to_ < next_; ++judged_up_to_) {
    Slot& at = slot(judged_up_to_);
    // Late already, whether or not an answer still comes.
    if (at.fate == Fate::open && now_seconds - at.intended_seconds > limit_seconds_) {
      at.fate = Fate::over;
    }
    if (at.fate == Fate::open) break;
    if (at.intended_seconds < count_from_seconds_) continue;
    over_.add(at.fate == Fate::over, at.expected == Fate::over);
    half_over_.add(at.fate != Fate::in_time, at.expected != Fate::in_time);
  }
  drop_settled();
}

double RequestLedger::design_effect(double queued_share, double queued_effect) const {
  return std::max({over_.design_effect(queued_share),
                   half_over_.design_effect(half_over_.expected_share()),
                   (1 - half_over_.explained()) * queued_effect});
}

void RequestLedger::drop_settled() {
  // A late request stays in the ring until its answer comes, because its slot must not be used
  // again.
  while (oldest_ < judged_up_to_ && slot(oldest_).finished) ++oldest_;
}

void RequestLedger::grow() {
  std::vector<Slot> wider(slots_.size() * 2);
  for (std::uint64_t i = oldest_; i < next_; ++i) wider[i & (wider.size() - 1)] = slot(i);
  slots_.swap(wider);
}

}  // namespace ocrtune
