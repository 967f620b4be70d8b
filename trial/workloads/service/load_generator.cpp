// Three loops in one: requests that are due are sent, answers are collected, and every 0.1 s it is
// looked at how it goes. The verdict looks at growing counts, each with a part of the doubt. A line
// of requests that only grows ends the run, because more of it would measure only its own length.
#include "trial/workloads/service/load_generator.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/interrupt.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/request_ledger.h"

namespace ocrtune {
namespace {

constexpr double kMinSeconds = 2;
constexpr double kGrowthShare = 0.02;
constexpr double kGrowthStddevs = 5;
constexpr double kDoubtStddevs = 2;
constexpr std::size_t kMaxPoints = 512;

constexpr int kMaxStartsInARow = 64;         // then answers are looked at
constexpr std::int64_t kCheckEvery = 256;    // requests or ...
constexpr double kCheckEverySeconds = 0.1;   // ... this long between looks at how it goes
constexpr double kLookGrowth = 1.3;          // an SLO is judged at counts this far apart
constexpr std::int64_t kFirstFailures = 20;  // a target that answers none of these is given up

// The kernel may wake a thread 50 us late to save power; a load generator asks for 1 ns.
class PreciseWaking {
 public:
  PreciseWaking() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PreciseWaking() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  PreciseWaking(const PreciseWaking&) = delete;
  PreciseWaking& operator=(const PreciseWaking&) = delete;

 private:
  int before_;
};

class LoadRun {
 public:
  LoadRun(LoadTarget& target, Clock& clock, Arrivals arrivals, const LoadPlan& plan)
      : target_(target),
        clock_(clock),
        arrivals_(std::move(arrivals)),
        plan_(plan),
        kinds_(plan.kind_weights, plan.seed),
        start_(clock.now_seconds()),
        end_(start_ + plan.max_seconds),
        ledger_(plan.slo, start_ + plan.warm_up_seconds, plan.queue) {
    if (plan.kind_weights.size() > 1) result_.kinds.resize(plan.kind_weights.size());
    if (plan.slo) {
      // No verdict is possible before so many were judged.
      const auto fewest = static_cast<double>(min_requests(plan.slo->percentile, confidence()));
      next_look_ = static_cast<std::int64_t>(
          fewest * std::max(plan.min_design_effect, plan.assumed_design_effect));
    }
  }

  LoadResult run() {
    intended_ = next_intended();
    while (!over_) {
      issue_due();
      if (!over_) collect(std::min({intended_, end_, now() + kCheckEverySeconds}));
      if (!over_) check();
    }
    const double seconds = std::max(now() - start_, 1e-9);
    result_.seconds = std::max(0.0, seconds - plan_.warm_up_seconds);
    result_.issued = ledger_.started() - unsent_;
    result_.completed_rate = static_cast<double>(result_.completed - result_.failed) / seconds;
    drain();
    return finish();
  }

 private:
  // All times are those of the clock: a sum that is rounded twice could wait for ever.
  double now() const { return clock_.now_seconds(); }
  double next_intended() { return start_ + arrivals_.next(); }

  void stop(LoadStop why) {
    result_.stop = why;
    over_ = true;
  }

  // How long after its intended start a request may still be answered in time.
  double patience() const {
    return plan_.slo ? std::min(plan_.slo->seconds, kDrainSeconds) : kDrainSeconds;
  }

  // Sending has fallen so far behind that all that is left to send is late already: it counts so
  // and is not sent, or a generator of half the speed takes twice the time.
  void skip_unsent() {
    for (; intended_ <= end_ && ledger_.started() < plan_.max_requests;
         intended_ = next_intended()) {
      ledger_.start(intended_, kinds_.next());
      ++unsent_;
    }
    stop(LoadStop::seconds);
  }

  void issue_due() {
    double at = now();
    if (at > end_ + patience()) return skip_unsent();
    for (int i = 0; i < kMaxStartsInARow && intended_ <= at; ++i) {
      if (intended_ > end_) break;
      if (ledger_.started() >= plan_.max_requests) return stop(LoadStop::requests);
      const int kind = kinds_.next();
      const std::uint64_t number = ledger_.start(intended_, kind);
      target_.start(plan_.first_request + number, kind);
      intended_ = next_intended();
      // The clock is read again only when the next one is not due yet.
      if (intended_ > at) at = now();
    }
    if (at >= end_ && intended_ > end_) stop(LoadStop::seconds);
  }

  void collect(double until) {
    finished_.clear();
    target_.collect(until, finished_);
    for (const Completion& one : finished_) {
      const double at = one.finished_seconds;
      const auto request = ledger_.finish(one.request - plan_.first_request, at, one.ok);
      if (!request) continue;
      ++result_.completed;
      if (!one.ok) ++result_.failed;
      if (one.refused) ++result_.refused;
      if (!one.ok || !request->counted) continue;
      const double latency = at - request->intended_seconds;
      result_.latency.add(latency);
      if (!result_.kinds.empty())
        result_.kinds[static_cast<std::size_t>(request->kind)].add(latency);
    }
  }

  void check() {
    const double at = now();
    if (ledger_.started() < next_check_ && at < next_check_seconds_) return;
    next_check_ = ledger_.started() + kCheckEvery;
    next_check_seconds_ = at + kCheckEverySeconds;
    if (interrupted()) return stop(LoadStop::interrupted);
    const std::int64_t failed = result_.failed - result_.refused;
    if (!target_.ended().empty() || (failed >= kFirstFailures && failed == result_.completed)) {
      return stop(LoadStop::target_failed);
    }
    saturation_.observe(at, ledger_.started(), result_.completed);
    if (saturation_.saturated() || ledger_.unanswered() > plan_.max_unanswered) {
      return stop(LoadStop::saturated);
    }
    ledger_.settle(at);
    if (!plan_.slo || at < start_ + plan_.warm_up_seconds + plan_.min_seconds) return;
    if (plan_.stop_when_vain && in_vain(at)) return stop(LoadStop::vain);
    if (!plan_.stop_when_decided || ledger_.judged() < next_look_) return;
    if (looks_ == 0) plan_looks(at);
    next_look_ = static_cast<std::int64_t>(static_cast<double>(ledger_.judged()) * kLookGrowth);
    if (decided()) return stop(LoadStop::decided);
    ++looks_;
  }

  double design_effect() const {
    const QueuedShare& queued = plan_.queued;
    return std::max({plan_.min_design_effect,
                     ledger_.design_effect(queued.late, queued.design_effect),
                     ledger_.clusters_seen() ? 1.0 : plan_.assumed_design_effect});
  }

  // Of the judged requests, less what their own arrivals alone explain.
  double over() const {
    return static_cast<double>(ledger_.judged()) * ledger_.late_share(plan_.queued.late);
  }

  // A test that looks often enough sees any verdict by chance. So each look may err with a part of
  // the doubt only: by Pocock's bounds (Biometrika 64, 1977) K looks cost as much as 1 + K / 2.
  double confidence() const {
    if (!plan_.stop_when_decided) return plan_.confidence;
    return 1 - (1 - plan_.confidence) / (1 + 0.5 * planned_looks_);
  }

  // As many as the plan has time for, at counts that grow.
  void plan_looks(double at) {
    const double counted = at - start_ - plan_.warm_up_seconds;
    const double rest = (plan_.max_seconds - plan_.warm_up_seconds) / std::max(counted, 1e-9);
    const auto judged = static_cast<double>(ledger_.judged());
    const double most = std::min(rest * judged, static_cast<double>(plan_.max_requests));
    planned_looks_ = 1 + std::max(0.0, std::log(most / judged) / std::log(kLookGrowth));
  }

  // What was late for its arrivals alone is forgiven, but no more than the target has room for.
  SloVerdict verdict() const {
    const auto judged = static_cast<double>(ledger_.judged());
    const bool late = static_cast<double>(ledger_.over()) > (1 - plan_.slo->percentile) * judged;
    const SloVerdict verdict = judge_slo(*plan_.slo, judged, over(), confidence(), design_effect());
    return verdict == SloVerdict::met && late ? SloVerdict::undecided : verdict;
  }

  // Were none of the requests to come late, there would still be too many.
  bool in_vain(double at) const {
    const double counted = at - start_ - plan_.warm_up_seconds;
    const auto judged = static_cast<double>(ledger_.judged());
    return judge_slo(*plan_.slo, judged * (plan_.max_seconds - plan_.warm_up_seconds) / counted,
                     over(), plan_.confidence, design_effect()) != SloVerdict::met;
  }

  // A burst early on looks like a violated SLO: half the requests of a clean proof must be seen.
  bool decided() {
    result_.verdict = verdict();
    if (result_.verdict == SloVerdict::met && saturation_.growing()) return false;
    if (result_.verdict != SloVerdict::violated) return result_.verdict == SloVerdict::met;
    const auto clean = min_requests(plan_.slo->percentile, confidence());
    return static_cast<double>(ledger_.judged()) >
           0.5 * static_cast<double>(clean) * design_effect();
  }

  // A run that was stopped by its verdict keeps it, unless the answers that came later speak
  // against.
  SloVerdict last_verdict() const {
    if (result_.stop == LoadStop::saturated || result_.stop == LoadStop::target_failed) {
      return SloVerdict::violated;
    }
    SloVerdict now = verdict();
    // A line that grows breaks the target a little later.
    if (now == SloVerdict::met && saturation_.growing()) now = SloVerdict::undecided;
    if (result_.stop != LoadStop::decided || now == result_.verdict) return now;
    return now == SloVerdict::undecided ? result_.verdict : SloVerdict::undecided;
  }

  // With an SLO every fate is known once the SLO's time has passed.
  void drain() {
    // A little more than the target's time, so that the last fate is known.
    const double end = now() + patience() * 1.001;
    while (ledger_.unanswered() > unsent_ && now() < end && !interrupted()) collect(end);
    ledger_.settle(now());
  }

  LoadResult finish() {
    result_.failure = target_.failure();
    result_.unanswered = ledger_.unanswered() - unsent_;
    result_.judged = ledger_.judged();
    result_.over = ledger_.over();
    result_.late_share = ledger_.late_share(plan_.queued.late);
    result_.design_effect = design_effect();
    if (plan_.slo) result_.verdict = last_verdict();
    return std::move(result_);
  }

  LoadTarget& target_;
  Clock& clock_;
  Arrivals arrivals_;
  const LoadPlan& plan_;
  KindDraw kinds_;
  double start_;
  double end_;  // of sending
  RequestLedger ledger_;
  SaturationWatch saturation_;
  LoadResult result_;
  std::vector<Completion> finished_;
  double intended_ = 0;  // start of the next request
  std::int64_t next_check_ = 0;
  double next_check_seconds_ = 0;
  std::int64_t next_look_ = 0;
  int looks_ = 0;  // that did not decide
  double planned_looks_ = 1;
  std::int64_t unsent_ = 0;  // that are in the ledger all the same
  bool over_ = false;
};

}  // namespace

std::string_view load_stop_name(LoadStop stop) {
  switch (stop) {
    case LoadStop::decided:
      return "decided";
    case LoadStop::vain:
      return "vain";
    case LoadStop::requests:
      return "requests";
    case LoadStop::seconds:
      return "seconds";
    case LoadStop::saturated:
      return "saturated";
    case LoadStop::target_failed:
      return "target_failed";
    case LoadStop::interrupted:
      return "interrupted";
  }
  return "";
}

LoadResult run_load(LoadTarget& target, Clock& clock, Arrivals arrivals, const LoadPlan& plan) {
  const PreciseWaking precise;
  return LoadRun(target, clock, std::move(arrivals), plan).run();
}

void SaturationWatch::observe(double seconds, std::int64_t issued, std::int64_t completed) {
  if (!points_.empty() && seconds - points_.back().seconds < min_gap_seconds_) return;
  points_.push_back({seconds, issued, completed});
  if (points_.size() < kMaxPoints) return;
  std::deque<Point> thinned;
  // Every second point goes and the gap doubles: memory stays bounded over hours.
  for (std::size_t i = 0; i < points_.size(); i += 2) thinned.push_back(points_[i]);
  points_.swap(thinned);
  min_gap_seconds_ = (points_.back().seconds - points_.front().seconds) / (kMaxPoints / 2.0);
}

SaturationWatch::Point SaturationWatch::at(double seconds) const {
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), seconds,
                       [](double value, const Point& point) { return value < point.seconds; });
  return after == points_.begin() ? points_.front() : *std::prev(after);
}

bool SaturationWatch::saturated() const { return grows_by(kGrowthStddevs); }
bool SaturationWatch::growing() const { return grows_by(kDoubtStddevs); }

bool SaturationWatch::grows_by(double stddevs) const {
  if (points_.empty()) return false;
  const double first = points_.front().seconds;
  const double span = points_.back().seconds - first;
  if (span < kMinSeconds) return false;
  Point from = at(first + span / 2);
  const Point half = from;
  for (int quarter = 1; quarter <= 4; ++quarter) {
    const Point to = at(first + span / 2 + span / 8 * quarter);
    const auto sent = static_cast<double>(to.issued - from.issued);
    const double grown = sent - static_cast<double>(to.completed - from.completed);
    if (grown <= kGrowthShare * sent || grown <= 0) return false;
    from = to;
  }
  const auto sent = static_cast<double>(from.issued - half.issued);
  const double grown = sent - static_cast<double>(from.completed - half.completed);
  return grown > stddevs * std::sqrt(sent);
}

}  // namespace ocrtune
