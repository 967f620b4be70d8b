// One thread sends and collects. Connections open one after the other; the first round makes them
// and is not counted, and whole rounds are counted from there. Who is turned away rests a little,
// as a client does that backs off.
#include "trial/workloads/service/closed_load.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/interrupt.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

constexpr double kClosedTurnSeconds = 0.1;  // between two looks at an interrupt
constexpr double kOpenSeconds = 0.002;      // between two new connections: a backlog may hold five
constexpr double kLongRound = 5;            // a first round this long counts: connecting is nothing
constexpr double kWarmSeconds = 4;  // beyond which, and four rounds, nobody waits for the rest
constexpr std::int64_t kManyBad = 20;
constexpr double kBadShare = 0.1;
// Of one that was turned away: a guess, which finds 0.9 of a limited rate and asks it five times as
// often at most; and while no answer is known.
constexpr double kRestShare = 0.25, kRestSeconds = 0.05;

class ClosedRun {
 public:
  ClosedRun(LoadTarget& target, Clock& clock, const ClosedPlan& plan)
      : target_(target),
        clock_(clock),
        plan_(plan),
        kinds_(plan.kind_weights, plan.seed),
        start_(clock.now_seconds()),
        opened_(std::clamp(plan.connected, 1, plan.in_flight)),
        begin_(start_) {}

  ClosedResult run() {
    while (sending()) {
      fill();
      const double rested = resting_.empty() ? start_ + plan_.max_seconds : resting_.front();
      collect(std::min({clock_.now_seconds() + pause(), start_ + plan_.max_seconds, rested}));
    }
    wait_for_the_rest();
    result_.unanswered = static_cast<std::int64_t>(started_.size());
    if (rounds_seconds_ <= 0 && last_ > begin_) {  // not one whole round
      rounds_good_ = good_;
      rounds_seconds_ = last_ - begin_;
    }
    if (rounds_seconds_ > 0) {
      result_.requests_per_second = static_cast<double>(rounds_good_) / rounds_seconds_;
      result_.seconds = rounds_seconds_;
    }
    return result_;
  }

 private:
  double pause() const { return opened_ < plan_.in_flight ? kOpenSeconds : kClosedTurnSeconds; }

  bool sending() const {
    if (interrupted() || done_ || !target_.ended().empty()) return false;
    return clock_.now_seconds() < start_ + plan_.max_seconds;
  }

  void fill() {
    const double now = clock_.now_seconds();
    // A new connection every 2 ms at most.
    while (opened_ < plan_.in_flight && now >= opened_at_ + kOpenSeconds) {
      ++opened_;
      opened_at_ += kOpenSeconds;
    }
    while (!resting_.empty() && resting_.front() <= now) resting_.pop_front();
    while (static_cast<int>(started_.size() + resting_.size()) < opened_) {
      const std::uint64_t number =
          plan_.first_request + static_cast<std::uint64_t>(result_.issued++);
      started_[number] = clock_.now_seconds();
      target_.start(number, kinds_.next());
    }
    // All that are in flight now are the first round, and each has a connection of its own.
    if (first_round_ends_ == 0 && opened_ == plan_.in_flight) {
      first_round_ends_ = plan_.first_request + static_cast<std::uint64_t>(result_.issued);
    }
  }

  void collect(double until) {
    finished_.clear();
    target_.collect(until, finished_);
    for (const Completion& one : finished_) {
      const auto found = started_.find(one.request);
      if (found == started_.end()) continue;
      const double began = found->second;
      started_.erase(found);
      note(one, began);
    }
  }

  void note(const Completion& one, double began) {
    last_ = std::max(last_, one.finished_seconds);
    ++answers_;
    if (!one.ok) ++(one.refused ? result_.refused : result_.failed);
    if (one.refused) resting_.push_back(one.finished_seconds + rest_seconds_);
    // One at a time finds the limit of a rate by being refused, and floods nobody.
    const std::int64_t bad = result_.failed + (plan_.in_flight > 1 ? result_.refused : 0);
    if (bad >= kManyBad && static_cast<double>(bad) > kBadShare * static_cast<double>(answers_)) {
      done_ = true;
    }
    if (one.ok) {
      ++good_;
      result_.latency.add(one.finished_seconds - began);
      rest_seconds_ = kRestShare * (one.finished_seconds - began);
    }
    if (counting_) return count(one.finished_seconds);
    if (one.request < first_round_ends_) ++first_answered_;
    const double taken = one.finished_seconds - start_;
    const bool all = first_answered_ == plan_.in_flight;
    // One connection that is never made must not hold up the others.
    const bool enough = taken > kWarmSeconds && answers_ >= std::int64_t{4} * plan_.in_flight;
    if (all || enough) begin(one.finished_seconds, all && taken > kLongRound);
  }

  // The first round is over. It counts itself where it took so long that connecting is nothing.
  void begin(double at, bool counts) {
    counting_ = true;
    if (counts) {
      begin_ = start_;
      return end_round(at);
    }
    begin_ = at;
    good_ = answers_ = 0;
    result_.latency = LatencyHistogram();
  }

  void count(double at) {
    if (answers_ % plan_.in_flight == 0) end_round(at);
  }

  void end_round(double at) {
    if (done_ || at <= begin_) return;
    rounds_good_ = good_;
    rounds_seconds_ = at - begin_;
    done_ = rounds_seconds_ >= plan_.min_seconds || good_ >= plan_.max_requests;
  }

  void wait_for_the_rest() {
    const double end = clock_.now_seconds() + plan_.patience_seconds;
    while (!started_.empty() && clock_.now_seconds() < end && !interrupted() &&
           target_.ended().empty()) {
      collect_late(std::min(end, clock_.now_seconds() + kClosedTurnSeconds));
    }
  }

  // What is answered after the last was sent found fewer beside it: its time is not counted.
  void collect_late(double until) {
    finished_.clear();
    target_.collect(until, finished_);
    for (const Completion& one : finished_) {
      if (started_.erase(one.request) == 0) continue;
      if (!one.ok) ++(one.refused ? result_.refused : result_.failed);
      if (one.ok && rounds_seconds_ <= 0) {
        ++good_;
        last_ = std::max(last_, one.finished_seconds);
      }
    }
  }

  LoadTarget& target_;
  Clock& clock_;
  const ClosedPlan& plan_;
  KindDraw kinds_;
  double start_;
  ClosedResult result_;
  std::unordered_map<std::uint64_t, double> started_;  // in flight: when they were sent
  std::deque<double> resting_;  // until when those wait that were turned away
  double rest_seconds_ = kRestSeconds;
  std::vector<Completion> finished_;
  int opened_ = 1;  // so many may be in flight by now
  double opened_at_ = start_;
  std::uint64_t first_round_ends_ = 0;  // the number behind its last request; 0: not sent yet
  int first_answered_ = 0;
  bool counting_ = false, done_ = false;
  double begin_, last_ = 0;              // of what is counted
  std::int64_t answers_ = 0, good_ = 0;  // since `begin_`
  std::int64_t rounds_good_ = 0;
  double rounds_seconds_ = 0;
};

}  // namespace

ClosedResult run_closed(LoadTarget& target, Clock& clock, const ClosedPlan& plan) {
  return ClosedRun(target, clock, plan).run();
}

std::int64_t drain(LoadTarget& target, Clock& clock, std::int64_t unanswered,
                   double until_seconds) {
  std::vector<Completion> finished;
  while (unanswered > 0 && clock.now_seconds() < until_seconds && !interrupted() &&
         target.ended().empty()) {
    finished.clear();
    target.collect(std::min(until_seconds, clock.now_seconds() + kClosedTurnSeconds), finished);
    unanswered -= static_cast<std::int64_t>(finished.size());
  }
  return std::max<std::int64_t>(unanswered, 0);
}

}  // namespace ocrtune
