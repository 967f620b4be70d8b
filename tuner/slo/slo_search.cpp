// run() takes the closed load first, which bounds the rate and shows what queue the server
// resembles. Then it bisects open loads. prove() begins at a given rate and steps down, or up while
// the rate is kept. Both judge each rate by probe().
#include "tuner/slo/slo_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "trial/workloads/service/closed_load.h"
#include "trial/workloads/service/server_queue.h"
#include "tuner/slo/late_share.h"
#include "tuner/slo/proof_start.h"

namespace ocrtune {
namespace {

constexpr double kProbeShare = 0.4;      // of what is left of the budget, at most, for one rate
constexpr double kMinShare = 0.2;        // of the time that a rate should be seen for
constexpr double kProofRoom = 1.2;       // times the fewest requests that prove a rate
constexpr double kClosedShare = 0.05;    // of the budget, at most, for one closed load
constexpr double kAllClosedShare = 0.3;  // after so much of it no further one begins
constexpr double kLeastLimits = 5;  // multiples of the SLO's time that a kept rate was seen for
constexpr double kLeastRoom = 1.05;
constexpr double kFailingShare = 0.5;  // of a closed load; fewer failures are judged as late ones
constexpr double kHopeless = 0.01;     // of the saturated rate: below this the search gives up
constexpr double kInnermost = 0.15;    // a guess keeps this share of the bracket from its ends
constexpr double kBluntShare = 0.05;   // of the rate: within it a probe may tell no better
constexpr double kGrossShare = 10;     // times the allowed share of late requests: far too fast
constexpr double kGrossStep = 0.6;     // then the next rate is at most this share of it
constexpr int kMaxProbes = 60;
constexpr double kQueueShare = 0.9;  // of the rate of a queue like the server: the first to try
constexpr double kQueueEdge = 0.98;  // of a queue's capacity: above it has no long run
// Of its long run: an error of a tenth of the allowed share does where the claim is proved apart.
constexpr int kQueueRequests = 400000, kFewQueueRequests = 100000;

// Of a proof: steps of the rate, the last one where the late share is so many times the allowed.
constexpr double kProofClimb = 1.03, kProofStep = 0.94, kFarStep = 0.85, kFarShare = 3;
constexpr double kHighestStart = 1.03, kLowestStart = 0.985, kStartStep = 0.01;
constexpr double kLooksCost = 4;          // of the doubt: what a run's looks divide it by
constexpr double kLeastProofShare = 0.4;  // of the rate that it begins with
constexpr double kVainLimits = 20;        // multiples of the SLO's time before a run is given up
constexpr double kClusterLimits = 1, kShownShare = 0.1;  // of the share of late ones allowed

class Search {
 public:
  Search(LoadTarget& target, Clock& clock, const SloSearchOptions& options)
      : target_(&target), clock_(clock), options_(options), start_(clock.now_seconds()) {}

  Result<SloSearchResult> run() {
    OCRTUNE_TRY(measure_closed());
    if (!impossible()) OCRTUNE_TRY(bisect());
    return finish();
  }

  // At falling rates until one is proved; from there at rising ones until one is not, as long as
  // there is time: the first rate above the truth is kept with the doubt of one verdict. Each run
  // may take all the time that is left; one that cannot prove its rate any more ends.
  Result<SloSearchResult> prove(const RateToProve& begin) {
    proves_ = true;
    queue_ = begin.queue;
    double rate = provable_rate(begin.requests_per_second);
    const double least = kLeastProofShare * rate;
    while (rate >= least) {
      const auto made = OCRTUNE_TRY(probe(rate));
      if (made.stop == LoadStop::interrupted) return Error{ErrorKind::interrupted, "interrupted"};
      if (made.verdict == SloVerdict::met || proved_by_all(rate)) {
        kept_.push_back(made);
        confirmed_ = true;
        rate *= kProofClimb;
      } else {
        result_.broken_at = rate;
        rate *= made.late_share > kFarShare * (1 - options_.slo.percentile) ? kFarStep : kProofStep;
      }
      // A rate that failed lies above: the climb has met its end already.
      const bool climbs = result_.broken_at <= 0 && left() >= made.seconds;
      if (!kept_.empty() && !climbs) break;
      if (left() <= kLeastLimits * options_.slo.seconds) break;
    }
    result_.stop_reason = kept_.empty() && rate >= least ? "budget" : "resolution";
    return finish();
  }

 private:
  // Around this rate, the highest that a queue like the server proves in the time that is left.
  double provable_rate(double rate) const {
    if (queue_.slots == 0) return rate;
    const double seconds = left() - options_.warm_up_limits * options_.slo.seconds;
    const double confidence = 1 - (1 - options_.confidence) / kLooksCost;
    double tried = kHighestStart * rate;
    for (; tried > kLowestStart * rate; tried -= kStartStep * rate) {
      const QueuedShare share = queued_share(queue_, options_.slo, tried, kFewQueueRequests);
      const double requests = seconds * tried / assumed_effect(tried, share);
      if (share.late < provable_share(1 - options_.slo.percentile, requests, confidence)) break;
    }
    return tried;
  }

  // Where too few are late to see how they cluster: what comes within one limit waits in one queue.
  // A queue that is late knows better; one that hardly ever is shows no clusters.
  double assumed_effect(double rate, const QueuedShare& share) const {
    const double effect = kClusterLimits * rate * options_.slo.seconds;
    return shows_late(share) ? std::min(effect, share.design_effect) : effect;
  }
  bool shows_late(const QueuedShare& share) const {
    return share.late > kShownShare * (1 - options_.slo.percentile);
  }

  Result<SloSearchResult> finish() {
    result_.found = !kept_.empty();
    if (result_.found) {
      result_.requests_per_second = kept_.back().requests_per_second;
      result_.latency_seconds = kept_.back().latency_seconds;
      result_.confirmed = confirmed_;
    }
    result_.words = words();
    return std::move(result_);
  }

  double spent() const { return clock_.now_seconds() - start_; }
  double left() const { return options_.budget_seconds - spent(); }

  Error failing() const {
    const std::string why = target_->failure();
    return {ErrorKind::failed, "the target answers no request" + (why.empty() ? "" : ": " + why)};
  }

  // One request at a time, then more in flight until that brings nothing.
  Status measure_closed() {
    ClosedMaximumOptions closed;
    closed.step_seconds =
        std::max(kClosedShare * options_.budget_seconds, 2 * options_.slo.seconds);
    closed.max_requests = min_requests(options_.slo.percentile, options_.confidence);
    closed.seconds = kAllClosedShare * options_.budget_seconds;
    closed.max_in_flight = options_.max_in_flight;
    closed.max_failed_share = kFailingShare;
    closed.patience_seconds = options_.patience_seconds;
    closed.kind_weights = options_.kind_weights;
    closed.seed = options_.seed;
    closed.on_step = options_.on_step;
    closed.restart = options_.restart;
    result_.closed = OCRTUNE_TRY(find_closed_maximum(*target_, clock_, closed));
    target_ = result_.closed.target;
    if (!target_->ended().empty()) return Error{ErrorKind::failed, target_->ended()};
    next_request_ = result_.closed.next_request;
    result_.alone_seconds = result_.closed.alone.latency.quantile(options_.slo.percentile);
    result_.saturated_at = result_.closed.requests_per_second;
    if (options_.trace.empty()) queue_ = server_queue(result_.closed.loads());
    settle(result_.closed.unanswered);
    return {};
  }

  // What is seen above a rate counts for it too, which is kept at least as well: requests at this
  // rate and at the next ones above may prove it together.
  bool proved_by_all(double rate) const {
    double judged = 0, over = 0, late = 0, effect = 1;
    for (auto one = result_.probes.rbegin(); one != result_.probes.rend(); ++one) {
      // Only the latest run of probes at this rate and above: an earlier, slower one says nothing
      // of it.
      if (one->requests_per_second < rate || one->breaks_a_kind) return false;
      judged += static_cast<double>(one->judged);
      over += one->late_share * static_cast<double>(one->judged);
      late += static_cast<double>(one->over);
      effect = std::max(effect, one->design_effect);
      if (late <= (1 - options_.slo.percentile) * judged &&
          judge_slo(options_.slo, judged, over, options_.confidence, effect) == SloVerdict::met) {
        return true;
      }
    }
    return false;
  }

  // Even one request at a time violates the SLO: more than 1 - p of them are over it.
  bool impossible() {
    const auto all = static_cast<double>(result_.closed.alone.latency.count());
    const auto over =
        static_cast<double>(result_.closed.alone.latency.count_over(options_.slo.seconds));
    if (judge_slo(options_.slo, all, over, options_.confidence) != SloVerdict::violated) {
      return false;
    }
    result_.stop_reason = "impossible";
    return true;
  }

  Result<RateProbe> probe(double rate) {
    const double limit = options_.slo.seconds;
    LoadPlan plan;
    plan.slo = options_.slo;
    plan.confidence = options_.confidence;
    // A queue fills slowly near the edge: requests of its filling would speak for the rate.
    plan.warm_up_seconds = std::min(seen_share_ * options_.warm_up_limits * limit, left() / 4);
    plan.min_seconds = std::max(kLeastLimits, seen_share_ * options_.min_limits) * limit;
    plan.max_seconds =
        std::max(plan.warm_up_seconds + kLeastRoom * kLeastLimits * limit, probe_seconds(rate));
    plan.min_design_effect = effect_near(rate);
    if (proves_) {
      plan.min_seconds = kVainLimits * limit;
      plan.max_seconds = left();
      plan.stop_when_vain = true;
    }
    expect_queue(rate, plan);
    // A search that claims by itself doubts a run without a late request where such a queue has
    // some.
    const bool claims = options_.min_rates <= 0;
    if (proves_ || (claims && shows_late(plan.queued))) {
      plan.assumed_design_effect = assumed_effect(rate, plan.queued);
    }
    plan.kind_weights = options_.kind_weights;
    // Each probe has arrivals of its own: the same ones twice would confirm nothing.
    plan.seed = options_.seed + probes_made_;
    plan.first_request = next_request_;
    // What ended the server in the closed load would end it again.
    if (result_.closed.ended_from > 0) plan.max_unanswered = result_.closed.ended_from - 1;
    const std::uint64_t seed = mix_bits(options_.seed * 1000 + ++probes_made_);
    const double before = clock_.now_seconds();
    const LoadResult load = run_load(*target_, clock_,
                                     options_.trace.empty() ? Arrivals::poisson(rate, seed)
                                                            : Arrivals::trace(options_.trace, rate),
                                     plan);
    next_request_ += static_cast<std::uint64_t>(load.issued);
    if (load.stop == LoadStop::target_failed) return failing();
    settle(load.unanswered);
    RateProbe made;
    made.requests_per_second = rate;
    made.verdict = load.verdict;
    made.stop = load.stop;
    made.seconds = clock_.now_seconds() - before;
    made.latency_seconds = load.latency.quantile(options_.slo.percentile);
    made.median_seconds = load.latency.quantile(0.5);
    made.p95_seconds = load.latency.quantile(0.95);
    made.p99_seconds = load.latency.quantile(0.99);
    made.refused = load.refused;
    for (const LatencyHistogram& kind : load.kinds) {
      made.worst_kind_seconds =
          std::max(made.worst_kind_seconds, kind.quantile(options_.slo.percentile));
    }
    made.judged = load.judged;
    made.over = load.over;
    made.late_share = load.late_share;
    made.design_effect = load.design_effect;
    made.breaks_a_kind = breaks_a_kind(load);
    if (made.verdict == SloVerdict::met && made.breaks_a_kind) made.verdict = SloVerdict::violated;
    if (made.verdict == SloVerdict::met && load.seconds < kLeastLimits * limit) {
      made.verdict = SloVerdict::undecided;  // it was not seen to last
    }
    result_.probes.push_back(made);
    if (options_.on_probe) options_.on_probe(made);
    return made;
  }

  // What the arrivals of this rate should make of a queue like the server.
  void expect_queue(double rate, LoadPlan& plan) const {
    if (queue_.slots == 0) return;
    const double most = queue_.slots / queue_.service_seconds;
    if (!queue_.sheds && rate > kQueueEdge * most) return;
    plan.queue = queue_;
    plan.queue.spread = 0;  // services that are drawn anew explain nothing
    const bool trial = options_.min_rates > 0;
    plan.queued =
        queued_share(plan.queue, options_.slo, rate, trial ? kFewQueueRequests : kQueueRequests);
    if (trial) plan.queued.design_effect = 1;  // what it claims is proved apart
  }

  bool breaks_a_kind(const LoadResult& load) const {
    return std::any_of(load.kinds.begin(), load.kinds.end(), [&](const LatencyHistogram& kind) {
      return judge_slo(options_.slo, static_cast<double>(kind.count()),
                       static_cast<double>(kind.count_over(options_.slo.seconds)),
                       options_.confidence, load.design_effect) == SloVerdict::violated;
    });
  }

  // What an overload left waiting must not burden the next rate.
  void settle(std::int64_t unanswered) {
    (void)drain(*target_, clock_, unanswered,
                clock_.now_seconds() + std::max(1.0, std::min(left(), kDrainSeconds)));
  }

  double probe_seconds(double rate) const {
    const double steady =
        (options_.warm_up_limits + 1.5 * options_.min_limits) * options_.slo.seconds;
    const double least = options_.min_rates > 0 ? proof_seconds(rate) : 0;
    return std::min(left(), std::max({kProbeShare * left(), seen_share_ * steady, least}));
  }

  // For a rate that keeps the target with ease.
  double proof_seconds(double rate) const {
    return seen_share_ * options_.warm_up_limits * options_.slo.seconds +
           kProofRoom *
               static_cast<double>(min_requests(options_.slo.percentile, options_.confidence)) /
               rate;
  }

  void make_room() {
    if (options_.min_rates <= 0) return;
    const double each = (options_.warm_up_limits + options_.min_limits) * options_.slo.seconds;
    seen_share_ = std::clamp(left() / (options_.min_rates * each), kMinShare, 1.0);
  }

  // How many requests count as one near this rate, by the probes at and below it.
  double effect_near(double rate) const {
    double effect = 1;
    for (const RateProbe& one : result_.probes) {
      const bool long_enough = static_cast<double>(one.judged) > 50 * one.design_effect;
      if (one.requests_per_second <= rate * 1.001 && long_enough) {
        effect = std::max(effect, one.design_effect);
      }
    }
    return effect;
  }

  // The rate to try next: the highest that the next probe will most probably prove, by the line
  // through the shares so far; before there is one, where 1 / latency meets the SLO.
  double guess(double low, double high) const {
    std::vector<LateShare> seen;
    for (const RateProbe& one : result_.probes) {
      const auto judged = static_cast<double>(std::max<std::int64_t>(one.judged, 1));
      seen.push_back({one.requests_per_second, one.late_share, judged / one.design_effect});
    }
    const LateShareLine line = fit_late_share(seen);
    if (line.known) {
      const double requests = probe_seconds(high) * high / effect_near(high);
      const double share =
          provable_share(1 - options_.slo.percentile, requests, options_.confidence);
      if (share > 0) return line.rate_of(share);
    }
    if (low <= 0 && queue_rate_ > 0) return queue_rate_;
    const double low_speed = low_latency_ > 0 ? 1 / low_latency_ : 0;
    const double high_speed = high_latency_ > 0 ? 1 / high_latency_ : 0;
    if (low_speed <= high_speed) return (low + high) / 2;
    const double share = (low_speed - 1 / options_.slo.seconds) / (low_speed - high_speed);
    return low + share * (high - low);
  }

  Status bisect() {
    double low = 0;
    double high = result_.saturated_at;
    low_latency_ = result_.alone_seconds;
    bool gross = false;  // `high` was refuted by far
    queue_rate_ = kQueueShare * queue_rate(options_.slo, queue_);
    make_room();
    for (int i = 0; i < kMaxProbes; ++i) {
      if (interrupted()) return note("interrupted");
      if (left() <= kLeastLimits * options_.slo.seconds) return note("budget");
      if (high < kHopeless * result_.saturated_at) return note("hopeless");
      const double best = guess(low, high);
      const double near = options_.resolution * high;
      const bool narrow = high - low <= near;
      // The line says that nothing above `low` can be proved in the time of a probe.
      const bool blunt = best <= low + near && high - low <= kBluntShare * high;
      const bool close = low > 0 && (narrow || blunt);
      if (close && confirmed_) return note("resolution");
      // A guess too near an end of the bracket would hardly shrink it.
      const double inner = kInnermost * (high - low);
      const double most = gross && low <= 0 ? kGrossStep * high : high - inner;
      const double rate = close ? low : std::clamp(best, std::min(low + inner, most), most);
      if (low > 0 && left() < proof_seconds(rate)) return note("budget");
      const auto made = OCRTUNE_TRY(probe(rate));
      if (made.stop == LoadStop::interrupted) return note("interrupted");
      if (close) {
        confirmed_ = confirms(made);
        if (!confirmed_) withdraw(low, high);
      } else if (made.verdict == SloVerdict::met) {
        low = rate;
        low_latency_ = made.latency_seconds;
        kept_.push_back(made);
        confirmed_ = false;
      } else {
        high = rate;
        high_latency_ = made.latency_seconds;
        gross = made.late_share > kGrossShare * (1 - options_.slo.percentile);
        result_.broken_at = rate;
      }
    }
    return note("probes");
  }

  // The claimed rate in a fresh run: not refuted, and proved by both runs together.
  bool confirms(const RateProbe& again) const {
    const RateProbe& first = kept_.back();
    const auto judged = static_cast<double>(first.judged + again.judged);
    const auto late = [](const RateProbe& one) {
      return one.late_share * static_cast<double>(one.judged);
    };
    const double over = late(first) + late(again);
    const double effect = std::max(first.design_effect, again.design_effect);
    return again.verdict != SloVerdict::violated &&
           judge_slo(options_.slo, judged, over, options_.confidence, effect) == SloVerdict::met;
  }

  // Back to the proved rate below one that a second run did not confirm.
  void withdraw(double& low, double& high) {
    high = low;
    result_.broken_at = low;
    // The rate was refuted, and by little: its latency is taken as the target's.
    high_latency_ = options_.slo.seconds;
    kept_.pop_back();
    low = kept_.empty() ? 0 : kept_.back().requests_per_second;
    low_latency_ = kept_.empty() ? result_.alone_seconds : kept_.back().latency_seconds;
  }

  Status note(const char* why) {
    result_.stop_reason = why;
    return {};
  }

  // No rate was proved; the highest that looked fine, and what to try.
  std::string too_short() const {
    double rate = 0, latency = 0;
    for (const RateProbe& probe : result_.probes) {
      const bool fine = probe.verdict != SloVerdict::violated && probe.latency_seconds > 0 &&
                        probe.latency_seconds <= options_.slo.seconds;
      if (!fine || probe.requests_per_second <= rate) continue;
      rate = probe.requests_per_second;
      latency = probe.latency_seconds;
    }
    std::string text =
        fmt::format("undecided: {} is too short to prove a rate that keeps {}",
                    format_duration(options_.budget_seconds), slo_target(options_.slo));
    if (rate > 0) {
      text += fmt::format(" ({} requests/s looked fine, with {:.3g} ms)", format_count(rate),
                          1e3 * latency);
    }
    return text +
           fmt::format("; try {} {:.0f}s", options_.budget_flag, 4 * options_.budget_seconds);
  }

  std::string words() const {
    const std::string slo = slo_target(options_.slo);
    const double percent = std::round(options_.slo.percentile * 1e4) / 100;
    if (result_.stop_reason == "impossible") {
      const double ratio = result_.alone_seconds / options_.slo.seconds;
      return fmt::format(
          "no rate keeps {}: one request at a time already takes {} ms at p{:g}, "
          "{} ms too long ({:.2g} times the target)",
          slo, milliseconds_text(result_.alone_seconds), percent,
          milliseconds_text(result_.alone_seconds - options_.slo.seconds), ratio);
    }
    if (result_.stop_reason == "hopeless") {
      return fmt::format(
          "no rate worth serving keeps {}: one request alone takes {} ms at p{:g}, "
          "which leaves no time to wait for another",
          slo, milliseconds_text(result_.alone_seconds), percent);
    }
    if (!result_.found && result_.stop_reason == "budget") return too_short();
    if (!result_.found) {
      return fmt::format("no rate was proved to keep {} before the {} ended the search", slo,
                         result_.stop_reason);
    }
    std::string text =
        fmt::format("{} holds up to {} requests/s", slo, format_count(result_.requests_per_second));
    if (result_.broken_at > 0)
      text += fmt::format(" and is not proved at {}/s", format_count(result_.broken_at));
    if (result_.open()) text += " (the search ended early)";
    return text;
  }

  LoadTarget* target_;
  Clock& clock_;
  const SloSearchOptions& options_;
  SloSearchResult result_;
  std::vector<RateProbe> kept_;  // ascending in rate
  std::uint64_t next_request_ = 0;
  std::uint64_t probes_made_ = 0;
  bool confirmed_ = false;
  bool proves_ = false;
  ServerQueue queue_;      // that the target resembles; without slots: unknown
  double seen_share_ = 1;  // of the time that a rate should be seen for
  double queue_rate_ = 0;  // where to look first; 0: unknown
  double low_latency_ = 0;
  double high_latency_ = 0;
  double start_ = 0;
};

}  // namespace

SloSearchOptions search_of_a_trial() {
  SloSearchOptions options;
  options.resolution = 0.03;
  options.warm_up_limits = 8;
  options.min_limits = 25;
  options.min_rates = 4;
  options.budget_flag = "--trial-time";
  options.confidence = 0.9;  // the rate that is claimed in the end is proved apart
  return options;
}

Result<SloSearchResult> find_highest_rate(LoadTarget& target, Clock& clock,
                                          const SloSearchOptions& options) {
  return Search(target, clock, options).run();
}

Result<SloSearchResult> prove_rate(LoadTarget& target, Clock& clock,
                                   const SloSearchOptions& options, const RateToProve& begin) {
  return Search(target, clock, options).prove(begin);
}

}  // namespace ocrtune
