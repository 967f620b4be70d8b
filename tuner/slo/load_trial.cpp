#include "tuner/slo/load_trial.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "trial/workloads/engine_infer/infer_trial.h"
#include "trial/workloads/engine_infer/pool_target.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/closed_load.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/server_metrics.h"
#include "tuner/slo/slo_search.h"
#include "tuner/slo/trial_answers.h"

namespace ocrtune {
namespace {

constexpr double kWorthMoreTime = 1.05;  // more in flight must bring this much
constexpr double kStepShare = 0.06;      // of the time, for each number in flight
constexpr double kWarmUpSeconds = 0.5;
constexpr double kPatienceSeconds = 30;  // for an answer of a closed load
constexpr double kRounds = 3;            // of answers in a step, where they take long ...
constexpr double kSlowSeconds = 0.5;     // ... and so long that steps are four times apart
constexpr int kMostInFlight = 1024;
constexpr double kMaxFailedShare = 0.01;  // of the requests, beyond which no rate is told
constexpr double kMinTrial = 12;          // seconds
constexpr double kTrialLimits = 250;      // multiples of the SLO's time

// Tells of answers while they come: a probe of a slow service takes minutes, and is no silence.
class HeardTarget final : public LoadTarget {
 public:
  HeardTarget(std::unique_ptr<LoadTarget> target, EventWriter& events)
      : target_(std::move(target)), events_(events) {}

  void start(std::uint64_t request, int kind) override { target_->start(request, kind); }
  void collect(double until_seconds, std::vector<Completion>& finished) override {
    const std::size_t before = finished.size();
    target_->collect(until_seconds, finished);
    if (finished.size() == before || steady_clock().now_seconds() < next_) return;
    next_ = steady_clock().now_seconds() + kBeatSeconds;
    events_.say(NoteEvent{});
  }
  std::string failure() const override { return target_->failure(); }
  std::string ended() const override { return target_->ended(); }

 private:
  static constexpr double kBeatSeconds = 1;
  std::unique_ptr<LoadTarget> target_;
  EventWriter& events_;
  double next_ = 0;
};

struct Asked {
  std::unique_ptr<LoadTarget> target;
  PoolTarget* pool = nullptr;  // where the target is the core
};

class LoadTrial {
 public:
  LoadTrial(const InferTrialSpec& spec, EventWriter& events) : spec_(spec), events_(events) {}

  bool run() {
    const Status made = make_target();
    if (!made) return fail(made.error());
    asked_.target = std::make_unique<HeardTarget>(std::move(asked_.target), events_);
    if (answers_) {
      if (const Status asked = answers_->take_reference(*asked_.target, steady_clock()); !asked) {
        return fail(asked.error());
      }
      if (spec_.ask_only) return finish(1, 1, 1, "");
    }
    warm_up();
    if (spec_.slo.empty()) return saturated();
    events_.say(ReadyEvent{0, 0});
    return within_slo();
  }

 private:
  bool fail(const Error& error) {
    if (interrupted() || error.kind == ErrorKind::interrupted) return true;  // asked to end
    ErrorEvent event = error_event(error);
    if (!hung_.empty()) return hang(hung_);
    if (error.kind == ErrorKind::invalid && asked_.pool == nullptr && !spec_.user_service()) {
      event.outcome = Outcome::wrong_result;
      event.cause = "reference";
    }
    if (spec_.user_service()) event.cause = "service";
    events_.say(event);
    return false;
  }

  bool hang(const std::string& who) { return refuse("silence", who, Outcome::hung); }

  bool refuse(const char* cause, std::string why, Outcome outcome = Outcome::unsupported) {
    ErrorEvent event;
    event.outcome = outcome;
    event.cause = cause;
    event.reason = std::move(why);
    events_.say(event);
    return false;
  }

  Status make_target() {
    if (spec_.user_service()) {
      ServedTargetOptions options;
      options.command = spec_.command;
      options.url = spec_.url;
      options.copies = spec_.copies;
      options.inputs = spec_.inputs;
      if (!answers_) answers_ = OCRTUNE_TRY(TrialAnswers::make(spec_));
      options.check = answers_->check();
      asked_.target = OCRTUNE_TRY(make_served_target(options));
      if (spec_.inputs.size() > 1) weights_.assign(spec_.inputs.size(), 1.0);
      return Status();
    }
    auto job = OCRTUNE_TRY(infer_job_of(spec_));
    job.spec.check = true;
    const RecognizerOptions& recognizer = spec_.infer.recognizer;
    auto kinds = line_kinds(job.paths, recognizer.height, recognizer.width);
    if (!kinds) return Error{ErrorKind::usage, kinds.error().what};
    weights_ = kinds->weights;
    auto pool = OCRTUNE_TRY(PoolTarget::start(job, std::move(kinds).value(), &hung_));
    asked_.pool = pool.get();
    asked_.target = std::move(pool);
    say_places();
    return Status();
  }

  void say_places() {
    for (std::size_t i = 0; i < asked_.pool->placements().size(); ++i) {
      const Placement& placement = asked_.pool->placements()[i];
      HelloEvent hello;
      hello.rank = static_cast<int>(i);
      hello.pid = placement.pid;
      hello.cpus = placement.allowed.text();
      hello.gpu = asked_.pool->gpu_places()[i].uuid;
      events_.say(hello);
    }
    say_memory();
  }

  // Of the GPUs, where the core reads on them.
  void say_memory() {
    for (std::size_t i = 0; asked_.pool != nullptr && i < spec_.gpus.size(); ++i) {
      const GpuPlace& place = asked_.pool->gpu_places()[i];
      if (place.source.empty()) continue;
      events_.say(MemoryEvent{static_cast<int>(i), place.bytes, 0, place.source});
    }
  }

  // First requests pay for plans and caches; they say nothing about the service.
  void warm_up() {
    const auto workers = static_cast<int>(spec_.masks.size());
    ClosedPlan plan;
    plan.in_flight = std::max(2, 2 * workers);
    plan.max_seconds = kWarmUpSeconds;
    plan.patience_seconds = kPatienceSeconds;
    plan.max_requests = 100000;
    plan.kind_weights = weights_;
    plan.first_request = std::uint64_t{1} << 50;
    (void)run_closed(*asked_.target, steady_clock(), plan);
    // On a GPU every size of a batch is a plan of its own.
    const int full = spec_.gpus.empty() ? 0 : workers * spec_.infer.recognizer.batch;
    for (plan.in_flight = 1; plan.in_flight <= full && !interrupted(); plan.in_flight *= 2) {
      plan.max_requests = 64 + 8 * plan.in_flight;
      (void)run_closed(*asked_.target, steady_clock(), plan);
    }
  }

  // No SLO was asked for: as many in flight as bring more.
  bool saturated() {
    ClosedPlan plan;
    plan.kind_weights = weights_;
    plan.max_requests = 100000000;
    plan.patience_seconds = kPatienceSeconds;
    const auto in_flight = best_in_flight(plan);
    if (!in_flight) return fail(in_flight.error());
    if (answers_) answers_->settle_doubt(*asked_.target, steady_clock(), spec_.seconds / 2);
    plan.in_flight = answers_ ? answers_->right_in_flight(*in_flight) : *in_flight;
    plan.max_seconds = std::max(spec_.seconds / 2, kRounds * answer_seconds_);
    events_.say(ReadyEvent{0, 0});
    MetricsWatch metrics(metrics_place(spec_.metrics, spec_.url));
    ClosedResult last = closed(plan);
    // Many more answers may show that fewer in flight are right.
    while (answers_ && answers_->right_in_flight(plan.in_flight) < plan.in_flight) {
      plan.in_flight = answers_->right_in_flight(plan.in_flight);
      last = closed(plan);
    }
    facts_.in_flight = plan.in_flight;
    facts_.p50_seconds = last.latency.quantile(0.5);
    facts_.p99_seconds = last.latency.quantile(0.99);
    say_facts(metrics);
    if (interrupted()) return true;
    if (const Status answers = check_answers(last); !answers) return fail(answers.error());
    return finish(
        last.requests_per_second, plan.max_seconds, last.issued,
        fmt::format("{} requests/s with {} in flight, p50 {} ms, p99 {} ms{}",
                    format_count(last.requests_per_second), plan.in_flight,
                    milliseconds_text(facts_.p50_seconds), milliseconds_text(facts_.p99_seconds),
                    last.failed + last.unanswered > 0 ? ", " + failed_words(last) : ""));
  }

  // A step of the search waits for a few answers where they take long. In flight is no more than
  // brings more, and no more than is answered.
  Result<int> best_in_flight(ClosedPlan& plan) {
    double best = 0;
    int in_flight = 1;
    for (int next = 1; next <= kMostInFlight && !interrupted();
         next *= answer_seconds_ > kSlowSeconds ? 4 : 2) {
      plan.in_flight = next;
      plan.max_seconds = std::max({0.2, kStepShare * spec_.seconds, kRounds * answer_seconds_});
      const ClosedResult one = closed(plan);
      const Status answers = check_answers(one);
      if (!answers && (next == 1 || one.latency.count() == 0)) return answers.error();
      events_.say(NoteEvent{
          0, fmt::format("{} in flight: {:.4g} requests/s{}", next, one.requests_per_second,
                         answers ? "" : ", " + failed_words(one))});
      if (!answers) break;
      const bool worth = one.requests_per_second > kWorthMoreTime * best;
      if (worth) {
        in_flight = next;
        answer_seconds_ = one.latency.quantile(0.5);
      }
      best = std::max(best, one.requests_per_second);
      if (!worth && next > 4) break;
    }
    return in_flight;
  }

  std::string failed_words(const ClosedResult& result) const {
    const std::string why = asked_.target->failure();
    const std::string late =
        result.unanswered > 0 ? fmt::format("no answer in {:g} s", kPatienceSeconds) : "";
    return fmt::format("{} of {} failed: {}", result.failed + result.unanswered, result.issued,
                       why.empty() ? late : why);
  }

  // failed: a rate of the answered requests alone would hide those that were not.
  Status check_answers(const ClosedResult& result) const {
    if (result.latency.count() > 0 && result.failed_share() <= kMaxFailedShare) return Status();
    if (result.latency.count() > 0) return Error{ErrorKind::failed, failed_words(result)};
    const std::string why = asked_.target->failure();
    return Error{ErrorKind::failed,
                 why.empty() ? fmt::format("it answers no request within {:g} s", kPatienceSeconds)
                             : "it answers no request: " + why};
  }

  ClosedResult closed(ClosedPlan& plan) {
    ClosedResult result = run_closed(*asked_.target, steady_clock(), plan);
    plan.first_request += static_cast<std::uint64_t>(result.issued);
    return result;
  }

  void say_facts(MetricsWatch& metrics) {
    facts_.server = metrics.stop();
    if (!facts_.server.empty()) events_.say(NoteEvent{0, "server: " + facts_.server});
    events_.say(ServiceEvent{0, facts_});
  }

  bool within_slo() {
    const auto slo = parse_slo(spec_.slo);
    if (!slo) return fail(slo.error());
    const double claimed = spec_.prove_per_second;
    SloSearchOptions options = claimed > 0 ? SloSearchOptions() : search_of_a_trial();
    options.slo = *slo;
    options.budget_seconds = spec_.seconds;
    options.seed = spec_.seed;
    options.kind_weights = weights_;
    options.on_probe = [this](const RateProbe& probe) { say_probe(probe); };
    if (!spec_.trace.empty()) {
      auto trace = read_trace(spec_.trace);
      if (!trace) return fail(trace.error());
      options.trace = std::move(trace).value();
    }
    const double start = steady_clock().now_seconds();
    MetricsWatch metrics(metrics_place(spec_.metrics, spec_.url));
    const auto found = claimed > 0 ? prove_rate(*asked_.target, steady_clock(), options, claimed)
                                   : find_highest_rate(*asked_.target, steady_clock(), options);
    if (interrupted()) return true;
    if (found && claimed <= 0) facts_.alone_seconds = found->alone_seconds;
    facts_.ended_early = found && claimed <= 0 && found->open();
    say_facts(metrics);
    if (asked_.pool != nullptr && !asked_.pool->hung().empty()) return hang(asked_.pool->hung());
    if (!found) return fail(found.error());
    if (claimed <= 0) {
      events_.say(NoteEvent{0, fmt::format("one request alone, at the percentile: {} ms",
                                           milliseconds_text(found->alone_seconds))});
    }
    if (!found->found) {
      // No rate was refuted for good: that is want of time, not a violated SLO.
      const bool short_of_time = found->stop_reason == "budget" || found->stop_reason == "probes";
      return refuse("promise", found->words,
                    short_of_time ? Outcome::timed_out : Outcome::unsupported);
    }
    std::int64_t judged = 0;
    for (const RateProbe& probe : found->probes) judged += probe.judged;
    return finish(found->requests_per_second, steady_clock().now_seconds() - start, judged,
                  found->words);
  }

  void say_probe(const RateProbe& probe) {
    const char* verdict = probe.verdict == SloVerdict::met        ? "kept"
                          : probe.verdict == SloVerdict::violated ? "broken"
                                                                  : "undecided";
    std::string worst;
    if (probe.worst_kind_seconds > 0) {
      worst = fmt::format(", slowest width {} ms", milliseconds_text(probe.worst_kind_seconds));
    }
    events_.say(NoteEvent{
        0, fmt::format("{:.4g} requests/s: {}, {} of {} too late, {} ms at the percentile{}",
                       probe.requests_per_second, verdict, probe.over, probe.judged,
                       milliseconds_text(probe.latency_seconds), worst)});
  }

  bool finish(double rate, double seconds, std::int64_t samples, std::string text) {
    if (!asked_.target->ended().empty()) {
      return fail({ErrorKind::failed, asked_.target->ended()});
    }
    if (asked_.pool != nullptr) {
      asked_.pool->wait_until_idle();
      if (!asked_.pool->hung().empty()) return hang(asked_.pool->hung());
      say_memory();
      const auto conflicts = asked_.pool->conflicts();
      if (!conflicts.empty()) return refuse("placement", conflicts[0]);
    }
    if (answers_) {
      const Status same = answers_->judge(rate);
      if (!same) return refuse("text", same.error().what, Outcome::wrong_result);
      for (const std::string& line : answers_->words()) events_.say(NoteEvent{0, line});
    }
    ResultEvent result;
    result.samples_per_second = rate;
    result.seconds = std::max(seconds, 1e-3);
    result.samples = samples;
    result.text = std::move(text);
    events_.say(result);
    // The watcher ends this process once it has measured memory and placement.
    while (!interrupted() && !events_.closed()) steady_clock().sleep_seconds(0.02);
    return true;
  }

  const InferTrialSpec& spec_;
  EventWriter& events_;
  std::unique_ptr<TrialAnswers> answers_;  // of a service of the user's
  Asked asked_;
  ServiceFacts facts_;
  std::string hung_;           // before it was ready
  double answer_seconds_ = 0;  // the median with as many in flight as is best so far
  std::vector<double> weights_;
};

}  // namespace

bool run_load_trial(const InferTrialSpec& spec, EventWriter& events) {
  return LoadTrial(spec, events).run();
}

double load_trial_seconds(double slo_seconds) {
  return std::max(kMinTrial, kTrialLimits * slo_seconds);
}

}  // namespace ocrtune
