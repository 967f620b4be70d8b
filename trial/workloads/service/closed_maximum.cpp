// climb() doubles the number in flight (times four for slow answers) until two steps bring nothing,
// a queue shows, or requests are not answered. close_in() then halves the gap between what was
// answered and what was not. The time that a next step would take is estimated first, because a
// step that begins runs to its end.
#include "trial/workloads/service/closed_maximum.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {
namespace {

constexpr double kWorthMore = 1.05;        // more in flight must bring this much
constexpr double kMaxRefusedShare = 0.01;  // of the requests, that are turned away
constexpr double kQueueGrowth = 0.8;  // of the growth in flight: latency that grows so is a queue
constexpr double kLongStep = 2;       // seconds; one such step shows a queue
constexpr std::int64_t kFewAlone = 5;
constexpr double kRounds = 3;          // of answers in a step ...
constexpr double kRoundsSeconds = 3;   // ... where that takes no longer than this
constexpr double kSlowSeconds = 0.5;   // answers that take longer: steps are four times apart
constexpr double kRisingRounds = 120;  // of one request alone, while more bring more
constexpr double kSlowRises = 4, kSlowRounds = 30;  // times the time to rise, of slow answers
constexpr double kFixedWaitSeconds = 0.5;           // shorter waits are told by nobody
constexpr int kFixedWaitInFlight = 16;
constexpr double kFixedWaitGrowth = 1.15;
constexpr double kFailedByChance = 0.02;  // of a step; below, its load is taken to do it
constexpr double kNearEnough = 1.1;       // between a number in flight that is answered and one not
constexpr double kMostRequests = 1e15;    // of a step that only its time ends
constexpr double kStepRounds = 6;         // that a step takes, with its first and last answers
constexpr double kDrainRounds = 4;        // of the last answers' time
// With answers that are late: of the time that is left, and seconds.
constexpr double kPatienceShare = 0.5, kLeastPatience = 1;
constexpr double kGoneSeconds = 1;  // from a connection that broke until its process is seen gone

class MaximumSearch {
 public:
  MaximumSearch(LoadTarget& target, Clock& clock, const ClosedMaximumOptions& options)
      : target_(&target), clock_(clock), options_(options), start_(clock.now_seconds()) {
    found_.next_request = options.first_request;
  }

  Result<ClosedMaximum> run() {
    OCRTUNE_TRY(climb());
    if (limit_ > 0 && target_->ended().empty()) OCRTUNE_TRY(close_in());
    note_fixed_wait();
    found_.target = target_;
    return std::move(found_);
  }

 private:
  // Numbers in flight upwards, until more bring nothing or are not answered.
  Status climb() {
    int bad = 0;
    double seconds = options_.step_seconds;
    for (int next = 1; next <= options_.max_in_flight; next = above(next)) {
      if (next > 1 && too_late(next)) {
        found_.open = bad == 0;
        return Status();
      }
      const ClosedStep before = found_.steps.empty() ? ClosedStep() : found_.steps.back();
      const ClosedStep one = OCRTUNE_TRY(step(next, seconds));
      if (limit_ > 0 || !target_->ended().empty()) {
        // Even one at a time is not answered: the one step is all there is.
        if (limit_ == 1) take(one);
        found_.open = false;
        return Status();
      }
      if (take(one)) {
        bad = 0;
        seconds = options_.step_seconds;
      } else if (++bad == 2 || (next > 4 && shows_a_queue(before, one))) {
        found_.open = false;
        return Status();
      } else {
        seconds = 2 * options_.step_seconds;
      }
      found_.open = bad == 0;
      // They would be beside the next step, and are not answered with fewer in flight either.
      if (found_.unanswered > 0) return Status();
    }
    return Status();
  }

  int above(int in_flight) const {
    // Steps of slow answers take seconds, so fewer of them are made.
    const int next = in_flight * (answer_seconds_ > kSlowSeconds ? 4 : 2);
    return in_flight < options_.max_in_flight ? std::min(next, options_.max_in_flight) : next;
  }

  // Between the most that were answered and the fewest that were not.
  Status close_in() {
    int low = found_.in_flight;
    for (const ClosedStep& one : found_.steps) {
      if (one.in_flight < limit_) low = std::max(low, one.in_flight);
    }
    while (limit_ > low + 1 && limit_ > kNearEnough * low && !too_late(limit_)) {
      const int middle = low + (limit_ - low) / 2;
      const ClosedStep one = OCRTUNE_TRY(step(middle, options_.step_seconds));
      if (!target_->ended().empty()) return Status();
      if (limit_ == middle) continue;
      take(one);
      low = middle;
    }
    return Status();
  }

  bool too_late(int next) const {
    const double spent = clock_.now_seconds() - start_;
    if (spent + kStepRounds * round_seconds(next) > options_.max_seconds) return true;
    // The last answers of a step must still be waited for.
    const double most = std::max(options_.seconds, kDrainRounds * kRounds * alone_seconds());
    const double rising =
        std::max(std::min(options_.rising_seconds, kRisingRounds * alone_seconds()),
                 std::min(kSlowRises * options_.rising_seconds, kSlowRounds * alone_seconds()));
    return spent + 2 * round_seconds(next) > (found_.open ? std::max(most, rising) : most);
  }

  // Of so many in flight, when latency goes on to grow with their number as it did: not at all
  // where requests wait beside each other, as fast as the number in a queue.
  double round_seconds(int next) const {
    if (found_.steps.empty()) return 0;
    const ClosedStep& last = found_.steps.back();
    if (found_.steps.size() < 2) return last.p50_seconds;
    const ClosedStep& before = found_.steps[found_.steps.size() - 2];
    const double more = static_cast<double>(last.in_flight) / before.in_flight;
    if (more <= 1 || before.p50_seconds <= 0) return next / found_.requests_per_second;
    // The exponent by which latency grew with the number in flight: 0 without a queue, 1 in one.
    const double growth =
        std::clamp(std::log(last.p50_seconds / before.p50_seconds) / std::log(more), 0.0, 1.0);
    return last.p50_seconds * std::pow(static_cast<double>(next) / last.in_flight, growth);
  }

  double alone_seconds() const { return found_.alone.latency.quantile(0.5); }

  // Whether this many bring more than fewer.
  bool take(const ClosedStep& one) {
    const bool worth = one.requests_per_second > kWorthMore * found_.requests_per_second;
    if (one.requests_per_second > found_.requests_per_second) {
      found_.requests_per_second = one.requests_per_second;
      if (worth) {
        found_.in_flight = one.in_flight;
        answer_seconds_ = one.p50_seconds;
      }
    }
    return worth;
  }

  static bool shows_a_queue(const ClosedStep& before, const ClosedStep& now) {
    if (now.seconds < kLongStep || before.p50_seconds <= 0) return false;
    const double more = static_cast<double>(now.in_flight) / before.in_flight;
    return now.p50_seconds / before.p50_seconds >= kQueueGrowth * more;
  }

  // As many as wanted, more in a longer step, and four rounds at least.
  std::int64_t requests_of(int in_flight, double seconds) const {
    const double longer = seconds / options_.step_seconds;
    const double wanted = longer * static_cast<double>(options_.max_requests);
    if (wanted > kMostRequests) return INT64_MAX;
    return std::max(static_cast<std::int64_t>(wanted), std::int64_t{4} * in_flight);
  }

  Result<ClosedStep> step(int in_flight, double seconds) {
    ClosedPlan plan;
    plan.in_flight = in_flight;
    plan.connected = connected_;
    plan.min_seconds = std::max(seconds, std::min(kRounds * answer_seconds_, kRoundsSeconds));
    plan.max_requests = requests_of(in_flight, seconds);
    // Late answers are waited for as long as is usual, but never beyond half of the time left.
    plan.patience_seconds =
        std::min(std::max(options_.patience_seconds, kDrainRounds * answer_seconds_),
                 std::max(kPatienceShare * (options_.max_seconds - (clock_.now_seconds() - start_)),
                          kLeastPatience));
    plan.max_seconds = plan.min_seconds + 2 * plan.patience_seconds;
    plan.kind_weights = options_.kind_weights;
    plan.seed = options_.seed;
    plan.first_request = found_.next_request;
    ClosedResult got = run_closed(*target_, clock_, plan);
    found_.next_request += static_cast<std::uint64_t>(got.issued);
    if (found_.steps.empty()) got = a_few_alone(plan, got);
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    if (got.latency.count() == 0 && found_.steps.empty()) return silent(got);
    connected_ = std::max(connected_, in_flight);
    if (found_.steps.empty()) found_.alone = got;
    // What a target that has ended leaves unanswered is gone with it.
    found_.unanswered = target_->ended().empty() ? found_.unanswered + got.unanswered : 0;
    ClosedStep one;
    one.in_flight = in_flight;
    one.requests_per_second = got.requests_per_second;
    one.p50_seconds = got.latency.quantile(0.5);
    one.p95_seconds = got.latency.quantile(0.95);
    one.p99_seconds = got.latency.quantile(0.99);
    one.seconds = got.seconds;
    one.answered = got.latency.count();
    one.failed = got.failed + got.unanswered;
    one.refused = got.refused;
    if (found_.steps.empty()) answer_seconds_ = one.p50_seconds;
    found_.steps.push_back(one);
    const bool refused = got.refused_share() > kMaxRefusedShare;
    const bool failed = got.failed_share() > options_.max_failed_share && !by_chance(one);
    const bool lives = !((refused || failed) && has_ended()) && target_->ended().empty();
    if (lives && refused) limit_ = found_.refused_from = in_flight;
    if (lives && failed) limit_ = found_.failed_from = in_flight;
    if (options_.on_step) options_.on_step(one);
    if (limit_ == 1 && (failed || got.latency.count() == 0)) return silent(got);
    if (!target_->ended().empty()) {
      limit_ = found_.ended_from = in_flight;
      if (options_.restart) target_ = OCRTUNE_TRY(options_.restart());
      // A server that was started anew has no connections.
      connected_ = 1;
    }
    return one;
  }

  // A step has few requests: a server that fails fewer than are allowed fails one of them now and
  // then.
  bool by_chance(const ClosedStep& one) const {
    const auto failed = static_cast<double>(one.failed);
    const double asked = failed + static_cast<double>(one.answered);
    return binomial_at_least(failed, asked, options_.max_failed_share) > kFailedByChance;
  }

  // A process that dies closes its connections first. Who took that for requests turned away would
  // go on with fewer, all refused, and never start the target anew.
  bool has_ended() {
    const double end = clock_.now_seconds() + kGoneSeconds;
    std::vector<Completion> late;
    while (target_->ended().empty() && clock_.now_seconds() < end && !interrupted()) {
      late.clear();
      target_->collect(std::min(end, clock_.now_seconds() + kGoneSeconds / 10), late);
      found_.unanswered -= std::min(found_.unanswered, static_cast<std::int64_t>(late.size()));
    }
    if (!target_->ended().empty()) found_.unanswered = 0;
    return !target_->ended().empty();
  }

  // One answer says little of what a request takes alone, where more cost little time.
  ClosedResult a_few_alone(ClosedPlan plan, const ClosedResult& first) {
    const double answer = first.latency.quantile(0.5);
    const bool bad = first.failed + first.refused + first.unanswered > 0;
    if (bad || first.latency.count() >= kFewAlone || answer > kRoundsSeconds ||
        !target_->ended().empty()) {
      return first;
    }
    plan.min_seconds = std::min(static_cast<double>(kFewAlone - 1) * answer, kRoundsSeconds);
    plan.max_requests = kFewAlone;
    plan.first_request = found_.next_request;
    const double began = clock_.now_seconds();
    ClosedResult more = run_closed(*target_, clock_, plan);
    start_ += clock_.now_seconds() - began;  // the climb has its time still
    found_.next_request += static_cast<std::uint64_t>(more.issued);
    more.latency.add(first.latency);
    return more;
  }

  Error silent(const ClosedResult& got) const {
    if (!target_->ended().empty()) return {ErrorKind::failed, target_->ended()};
    const std::string why = target_->failure();
    if (got.latency.count() > 0) {
      return {ErrorKind::failed,
              fmt::format("{} of {} failed: {}", got.failed + got.refused + got.unanswered,
                          got.issued, why)};
    }
    return {ErrorKind::failed, why.empty() ? fmt::format("it answers no request within {}",
                                                         format_duration(options_.patience_seconds))
                                           : "it answers no request: " + why};
  }

  void note_fixed_wait() {
    const double alone = alone_seconds();
    if (alone < kFixedWaitSeconds) return;
    for (const ClosedStep& one : found_.steps) {
      // The same latency with 16 in flight as alone: requests wait beside each other.
      if (one.in_flight >= kFixedWaitInFlight && one.p50_seconds <= kFixedWaitGrowth * alone) {
        found_.fixed_wait_seconds = alone;
      }
    }
  }

  LoadTarget* target_;
  Clock& clock_;
  const ClosedMaximumOptions& options_;
  double start_;
  ClosedMaximum found_;
  int limit_ = 0;              // the fewest in flight that were not all answered; 0: none
  int connected_ = 1;          // the most in flight so far
  double answer_seconds_ = 0;  // the median with as many in flight as is best so far
};

}  // namespace

const ClosedStep* ClosedMaximum::step_of(int number_in_flight) const {
  const auto found = std::find_if(steps.rbegin(), steps.rend(), [&](const ClosedStep& one) {
    return one.in_flight == number_in_flight;
  });
  return found == steps.rend() ? nullptr : &*found;
}

std::vector<LoadPoint> ClosedMaximum::loads() const {
  std::vector<LoadPoint> loads;
  for (const ClosedStep& step : steps) {
    loads.push_back({step.in_flight, step.requests_per_second, step.p50_seconds, step.p95_seconds,
                     step.p99_seconds, 0, step.answered, step.failed + step.refused, ""});
  }
  return loads;
}

Result<ClosedMaximum> find_closed_maximum(LoadTarget& target, Clock& clock,
                                          const ClosedMaximumOptions& options) {
  return MaximumSearch(target, clock, options).run();
}

}  // namespace ocrtune
