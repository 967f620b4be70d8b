// One process: make the target, ask for the reference, warm up, then a closed load or a search
// under the SLO, and tell the result. What others found stands in spec_.in_flight and spec_.proves.
#include "tuner/slo/load_trial.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/workloads/engine_infer/infer_trial.h"
#include "trial/workloads/engine_infer/pool_target.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/closed_maximum.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/server_metrics.h"
#include "trial/workloads/service/settling.h"
#include "trial/workloads/service/slo.h"
#include "tuner/slo/slo_search.h"
#include "tuner/slo/trial_answers.h"

namespace ocrtune {
namespace {

constexpr double kStepShare = 0.05;    // of the time, for each number in flight
constexpr double kClimbShare = 1.5;    // of the time, for all of them
constexpr double kRisingSeconds = 15;  // for all of them, while more bring more
constexpr double kClimbOfTrial = 0.6;  // of a trial's time, which the budget may have cut short
constexpr double kWarmUpSeconds = 0.5, kWarmUpPatience = 5;
constexpr double kSlowSeconds = 1;        // a first answer that took longer is warm-up enough
constexpr int kWindows = 5;               // of the measurement ...
constexpr double kFewerSeconds = 3;       // ... two where an answer takes longer than this
constexpr double kFewer = 0.8;            // in flight, where the measurement was turned away
constexpr double kMaxFailedShare = 0.01;  // of the requests, beyond which no rate is told
constexpr double kByChance = 0.01;        // that the load has nothing to do with failures
constexpr double kMinTrial = 12;          // seconds
constexpr double kTrialLimits = 250;      // multiples of the SLO's time
constexpr double kEndSeconds = 3;         // of a trial, for its last answers and its facts

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
  JobTimes job_times() const override { return target_->job_times(); }

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
    ready_seconds_ = steady_clock().now_seconds() - start_;
    patience_seconds_ =
        spec_.request_seconds > 0 ? spec_.request_seconds : learned_timeout(ready_seconds_);
    if (answers_) {
      if (const Status asked = answers_->take_reference(*asked_.target, steady_clock()); !asked) {
        return fail(asked.error());
      }
      if (spec_.ask_only) return finish(1, 1, 1, "");
    }
    warm_up();
    if (spec_.slo.empty() || spec_.in_flight > 0) return saturated();
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
      options.request_seconds = spec_.request_seconds;
      if (spec_.first_answer_seconds > 0) {
        options.start_seconds = options.busy_start_seconds = spec_.first_answer_seconds;
      }
      options.max_in_flight = spec_.max_in_flight;
      if (!answers_) answers_ = OCRTUNE_TRY(TrialAnswers::make(spec_));
      options.check = answers_->check();
      asked_.target =
          std::make_unique<HeardTarget>(OCRTUNE_TRY(make_served_target(options)), events_);
      if (spec_.inputs.size() > 1) weights_.assign(spec_.inputs.size(), 1.0);
      return Status();
    }
    const LineList lines = OCRTUNE_TRY(lines_of(spec_));
    auto job = OCRTUNE_TRY(infer_job_of(spec_, lines));
    job.spec.check = true;
    const RecognizerOptions& recognizer = spec_.infer.recognizer;
    auto kinds = line_kinds(job.paths, recognizer.height, recognizer.width);
    if (!kinds) return Error{ErrorKind::usage, kinds.error().what};
    weights_ = kinds->weights;
    auto pool = OCRTUNE_TRY(PoolTarget::start(job, std::move(kinds).value(), &hung_));
    asked_.pool = pool.get();
    asked_.target = std::make_unique<HeardTarget>(std::move(pool), events_);
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
    plan.max_requests = 1;
    plan.max_seconds = plan.patience_seconds = patience_seconds_;
    plan.kind_weights = weights_;
    // Far from the numbers of the measurement: a request's input goes by its number.
    plan.first_request = std::uint64_t{1} << 50;
    const double start = steady_clock().now_seconds();
    if (asked_.pool == nullptr) (void)closed(plan);
    if (steady_clock().now_seconds() - start > kSlowSeconds) return;
    plan.in_flight = std::min(std::max(2, 2 * workers), spec_.max_in_flight);
    plan.min_seconds = plan.max_seconds = kWarmUpSeconds;
    plan.patience_seconds = std::min(patience_seconds_, kWarmUpPatience);
    plan.max_requests = 100000;
    (void)closed(plan);
    // On a GPU every size of a batch is a plan of its own.
    const int full = spec_.gpus.empty() ? 0 : workers * spec_.infer.recognizer.batch;
    for (plan.in_flight = 1; plan.in_flight <= full && !interrupted(); plan.in_flight *= 2) {
      plan.max_requests = 64 + 8 * plan.in_flight;
      (void)closed(plan);
    }
  }

  // Until the trial is ended by its watcher.
  double left() const {
    if (spec_.max_seconds <= 0) return std::numeric_limits<double>::infinity();
    return spec_.max_seconds - kEndSeconds - (steady_clock().now_seconds() - start_);
  }

  // As many in flight as bring more, or as many as earlier trials found.
  Result<ClosedMaximum> climb() {
    if (spec_.in_flight > 0) {
      ClosedMaximum found;
      found.in_flight = spec_.in_flight;
      return found;
    }
    ClosedMaximumOptions options;
    options.step_seconds = std::max(0.2, kStepShare * spec_.seconds);
    options.seconds = kClimbShare * spec_.seconds;
    options.rising_seconds = kRisingSeconds;
    options.max_seconds = kClimbOfTrial * left();
    options.max_in_flight = spec_.max_in_flight;
    options.patience_seconds = patience_seconds_;
    options.kind_weights = weights_;
    options.on_step = [this](const ClosedStep& step) { say_step(step); };
    options.restart = restart();
    return find_closed_maximum(*asked_.target, steady_clock(), options);
  }

  // The most that it answers, without a target.
  bool saturated() {
    auto found = climb();
    if (!found) return fail(found.error());
    if (const Status empty = settle(*found); !empty) return fail(empty.error());
    if (answers_) {
      answers_->settle_doubt(*asked_.target, steady_clock(), spec_.seconds / 2);
      found->in_flight = answers_->right_in_flight(found->in_flight);
    }
    events_.say(ReadyEvent{0, 0});
    MetricsWatch metrics(metrics_place(spec_.metrics, spec_.url));
    Measured measured = measure(*found);
    while (!interrupted() && found->in_flight > fewer_in_flight(*found, measured)) {
      found->in_flight = fewer_in_flight(*found, measured);
      measured = measure(*found);
    }
    // What a limit of the rate had saved up for a burst is used up by now.
    if (found->refused_from == 1) measured = measure(*found);
    facts_.in_flight = found->in_flight;
    add_loads(*found);
    facts_.alone_seconds = found->alone.latency.quantile(0.5);
    facts_.p50_seconds = measured.all.latency.quantile(0.5);
    facts_.p99_seconds = measured.all.latency.quantile(0.99);
    const std::vector<std::string> limits = limits_of(*found, measured);
    say_facts(metrics, limits);
    if (interrupted()) return true;
    const double refused = found->refused_from == 1 ? 0 : measured.all.refused_share();
    if (const Status answers = check_answers(measured.all, refused); !answers) {
      return fail(answers.error());
    }
    return finish(measured.rate(), measured.seconds, measured.all.issued,
                  closed_words(*found, measured, limits));
  }

  struct Measured {
    ClosedResult all;  // of all windows; its rate is not used
    double answers = 0, seconds = 0;
    double rate() const { return seconds > 0 ? answers / seconds : 0; }
  };

  // As many in flight as the measurement showed to be answered, and answered right: many more
  // answers may show that it is fewer than the search found.
  int fewer_in_flight(ClosedMaximum& found, const Measured& measured) {
    int fewer = found.in_flight;
    const bool refused = measured.all.refused_share() > kMaxFailedShare;
    const bool failed = measured.all.failed_share() > kMaxFailedShare;
    if ((refused || failed) && measured.all.latency.count() > 0) {
      (refused ? found.refused_from : found.failed_from) = fewer;
      fewer = std::max(1, static_cast<int>(kFewer * fewer));
    }
    return answers_ ? answers_->right_in_flight(fewer) : fewer;
  }

  // Windows of whole rounds with as many in flight as is best.
  Measured measure(ClosedMaximum& found) {
    const ClosedStep* step = found.step_of(found.in_flight);
    const double round = step == nullptr ? found.alone.latency.quantile(0.5) : step->p50_seconds;
    const int windows = round > kFewerSeconds ? 2 : kWindows;
    const double seconds =
        std::min(spec_.in_flight > 0 ? spec_.seconds : spec_.seconds / 2, left());
    ClosedPlan plan;
    plan.in_flight = found.in_flight;
    plan.connected = found.steps.empty() ? 1 : found.in_flight;
    plan.min_seconds = std::max(seconds / windows, round);
    plan.patience_seconds = std::min(patience_seconds_, std::max(left(), 1.0));
    plan.max_seconds = plan.min_seconds + plan.patience_seconds;
    plan.kind_weights = weights_;
    plan.first_request = found.next_request;
    Measured measured;
    for (int window = 0; window < windows && !interrupted(); ++window) {
      if (window > 0 && left() < plan.min_seconds + round) break;
      const ClosedResult one = closed(plan);
      measured.answers += one.requests_per_second * one.seconds;
      measured.seconds += one.seconds;
      measured.all.latency.add(one.latency);
      measured.all.issued += one.issued;
      measured.all.failed += one.failed;
      measured.all.refused += one.refused;
      measured.all.unanswered += one.unanswered;
      const bool sheds = found.in_flight > 1 && one.refused_share() > kMaxFailedShare;
      if (!asked_.target->ended().empty() || sheds) break;
    }
    found.next_request = plan.first_request;
    return measured;
  }

  // What the climb gave up is not left to the measurement.
  Status settle(ClosedMaximum& found) {
    if (found.unanswered == 0 && found.failed_from == 0) return Status();
    const Settled settled = wait_until_empty(
        *asked_.target, steady_clock(), found.unanswered, found.alone.latency.quantile(0.5),
        std::min(std::max(patience_seconds_, kStartSeconds), kClimbOfTrial * left()),
        found.next_request);
    found.next_request = settled.next_request;
    events_.say(NoteEvent{0, fmt::format("waited {} until the server was empty again",
                                         format_duration(settled.seconds))});
    if (settled.empty || !asked_.target->ended().empty()) return Status();
    return Error{ErrorKind::failed,
                 fmt::format("it still works at requests that were given up {} ago; a longer "
                             "timeout in the .request.toml gives up fewer",
                             format_duration(settled.seconds))};
  }

  // A server that ocrtune starts is started again, where fewer in flight may be answered.
  std::function<Result<LoadTarget*>()> restart() {
    if (spec_.command.empty() || !spec_.user_service()) return {};
    return [this]() -> Result<LoadTarget*> {
      asked_.target.reset();
      OCRTUNE_TRY(make_target());
      return asked_.target.get();
    };
  }

  void add_loads(const ClosedMaximum& found) {
    const std::vector<LoadPoint> loads = found.loads();
    facts_.loads.insert(facts_.loads.end(), loads.begin(), loads.end());
  }

  void add_loads(const SloSearchResult& found) {
    add_loads(found.closed);
    for (const RateProbe& probe : found.probes) {
      facts_.loads.push_back({0, probe.requests_per_second, probe.median_seconds, probe.p95_seconds,
                              probe.p99_seconds, probe.latency_seconds, probe.judged, probe.over,
                              verdict_word(probe.verdict)});
    }
  }

  static const char* verdict_word(SloVerdict verdict) {
    return verdict == SloVerdict::met        ? "kept"
           : verdict == SloVerdict::violated ? "broken"
                                             : "undecided";
  }

  void say_step(const ClosedStep& step) {
    std::string text =
        fmt::format("{} in flight: {:.4g} requests/s, p50 {} ms, p95 {} ms, p99 {} ms",
                    step.in_flight, step.requests_per_second, milliseconds_text(step.p50_seconds),
                    milliseconds_text(step.p95_seconds), milliseconds_text(step.p99_seconds));
    if (step.refused > 0) text += fmt::format(", {} turned away", step.refused);
    if (step.failed > 0) {
      text += fmt::format(", {} failed: {}", step.failed, asked_.target->failure());
    }
    events_.say(NoteEvent{0, text});
  }

  // What bounds the load of this server, each in words of its own.
  std::vector<std::string> limits_of(const ClosedMaximum& found, const Measured& measured) const {
    std::vector<std::string> limits;
    if (found.refused_from == 1) {
      limits.push_back(
          fmt::format("it turns requests away beyond {} a second, however few there are",
                      format_count(measured.rate())));
    } else if (found.refused_from > 0) {
      limits.push_back(
          fmt::format("it turns requests away from {} in flight on: its clients may "
                      "have {} at most",
                      found.refused_from, found.in_flight));
    }
    if (found.ended_from > 0) {
      limits.push_back(fmt::format("it ended with {} requests in flight", found.ended_from));
    }
    if (found.failed_from > 0 && fails_by_load(found, measured)) {
      limits.push_back(fmt::format("requests fail from {} in flight on", found.failed_from));
    }
    if (found.fixed_wait_seconds > 0) {
      limits.push_back(
          fmt::format("a request takes {} whatever the load: a fixed wait, no computing",
                      format_duration(found.fixed_wait_seconds)));
    }
    if (found.open)
      limits.emplace_back("more requests in flight were not tried and may bring more");
    if (measured.all.failed + measured.all.unanswered > 0) {
      limits.push_back("of its requests " + failed_words(measured.all));
    }
    return limits;
  }

  // Whether more of them failed from so many in flight on than with fewer, beyond chance.
  static bool fails_by_load(const ClosedMaximum& found, const Measured& measured) {
    const ClosedStep* const step = found.step_of(found.failed_from);
    if (step == nullptr) return true;
    double failed = static_cast<double>(measured.all.failed + measured.all.unanswered);
    double asked = static_cast<double>(measured.all.issued);
    for (const ClosedStep& fewer : found.steps) {
      if (fewer.in_flight >= found.failed_from) continue;
      failed += static_cast<double>(fewer.failed);
      asked += static_cast<double>(fewer.answered + fewer.failed);
    }
    const auto more = static_cast<double>(step->failed);
    const double usual = (failed + 1) / (asked + 2);  // Laplace's rule of succession
    return binomial_at_least(more, more + static_cast<double>(step->answered), usual) < kByChance;
  }

  std::string closed_words(const ClosedMaximum& found, const Measured& measured,
                           const std::vector<std::string>& limits) const {
    const ClosedResult& all = measured.all;
    std::string text = fmt::format(
        "{} requests/s with {} in flight, p50 {} ms, p95 {} ms, p99 {} ms",
        format_count(measured.rate()), found.in_flight,
        milliseconds_text(all.latency.quantile(0.5)), milliseconds_text(all.latency.quantile(0.95)),
        milliseconds_text(all.latency.quantile(0.99)));
    for (const std::string& limit : limits) text += "; " + limit;
    return text;
  }

  std::string failed_words(const ClosedResult& result) const {
    const std::string why = asked_.target->failure();
    return fmt::format("{} of {} failed: {}", result.failed + result.unanswered, result.issued,
                       why.empty() ? late_words() : why);
  }
  std::string late_words() const {
    return "no answer within " + format_duration(patience_seconds_);
  }

  // failed: a rate of the answered requests alone would hide those that were not.
  Status check_answers(const ClosedResult& result, double refused_share) const {
    const double bad = std::max(result.failed_share(), refused_share);
    if (result.latency.count() > 0 && bad <= kMaxFailedShare) return Status();
    if (result.latency.count() > 0) return Error{ErrorKind::failed, failed_words(result)};
    const std::string why = asked_.target->failure();
    return Error{ErrorKind::failed, "it answers no request: " + (why.empty() ? late_words() : why)};
  }

  ClosedResult closed(ClosedPlan& plan) {
    ClosedResult result = run_closed(*asked_.target, steady_clock(), plan);
    plan.first_request += static_cast<std::uint64_t>(result.issued);
    return result;
  }

  // How jobs spent their time, where the server takes jobs.
  std::string job_words() const {
    const JobTimes jobs = asked_.target->job_times();
    if (jobs.jobs == 0) return "";
    const auto mean = [&](double seconds) {
      return milliseconds_text(seconds / static_cast<double>(jobs.jobs));
    };
    std::string text =
        fmt::format("a job takes {} ms from submit to result", mean(jobs.total_seconds));
    if (jobs.queue_seconds > 0) {
      text += fmt::format(", {} ms of it in the queue", mean(jobs.queue_seconds));
    }
    return text + fmt::format(", and its end is seen up to {} ms late, by the polls",
                              milliseconds_text(jobs.poll_seconds));
  }

  void say_facts(MetricsWatch& metrics, std::vector<std::string> seen = {}) {
    seen.insert(seen.begin(), {metrics.stop(), job_words()});
    std::erase_if(seen, [](const std::string& one) { return one.empty(); });
    facts_.server = join(seen, "; ");
    if (!facts_.server.empty()) events_.say(NoteEvent{0, "server: " + facts_.server});
    const bool started = asked_.pool != nullptr || !spec_.command.empty();
    events_.say(ServiceEvent{0, facts_, started ? ready_seconds_ : 0});
  }

  bool within_slo() {
    const auto slo = parse_slo(spec_.slo);
    if (!slo) return fail(slo.error());
    const double claimed = spec_.proves.requests_per_second;
    SloSearchOptions options = claimed > 0 ? SloSearchOptions() : search_of_a_trial();
    options.slo = *slo;
    options.budget_seconds = std::min(spec_.seconds, left() - slo->seconds);
    options.seed = spec_.seed;
    options.kind_weights = weights_;
    options.max_in_flight = spec_.max_in_flight;
    options.patience_seconds = patience_seconds_;
    options.on_probe = [this](const RateProbe& probe) { say_probe(probe); };
    options.on_step = [this](const ClosedStep& step) { say_step(step); };
    options.restart = restart();
    if (!spec_.trace.empty()) {
      auto trace = read_trace(spec_.trace);
      if (!trace) return fail(trace.error());
      options.trace = std::move(trace).value();
    }
    const double start = steady_clock().now_seconds();
    MetricsWatch metrics(metrics_place(spec_.metrics, spec_.url));
    const auto found = claimed > 0
                           ? prove_rate(*asked_.target, steady_clock(), options, spec_.proves)
                           : find_highest_rate(*asked_.target, steady_clock(), options);
    if (interrupted()) return true;
    if (found && claimed <= 0) facts_.alone_seconds = found->alone_seconds;
    if (found) add_loads(*found);
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
    std::string worst;
    if (probe.worst_kind_seconds > 0) {
      worst = fmt::format(", slowest width {} ms", milliseconds_text(probe.worst_kind_seconds));
    }
    events_.say(NoteEvent{
        0, fmt::format("{:.4g} requests/s: {}, {} of {} too late, {} ms at the percentile{}",
                       probe.requests_per_second, verdict_word(probe.verdict), probe.over,
                       probe.judged, milliseconds_text(probe.latency_seconds), worst)});
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
      const int in_flight = facts_.in_flight > 0 ? facts_.in_flight : spec_.max_in_flight;
      events_.say(AnswersEvent{0, answers_->result(in_flight)});
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
  double start_ = steady_clock().now_seconds();
  std::string hung_;             // before it was ready
  double ready_seconds_ = 0;     // until the first answer
  double patience_seconds_ = 0;  // for an answer of a closed load
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
