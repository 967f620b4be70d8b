// The loop never waits on one source: it polls for a moment, reads what is there, and looks at
// everything. The first reason stops it, and later ones are not heard. finish() has an order of its
// own: what only living processes tell is read before they are ended.
#include "trial/watch/trial_watch.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/plural.h"
#include "base/text.h"
#include "trial/ipc/copy_mark.h"
#include "trial/observe/gpu_places.h"
#include "trial/observe/wait_states.h"
#include "trial/proc/listening_ports.h"
#include "trial/watch/exit_watch.h"
#include "trial/watch/learning_curve.h"
#include "trial/watch/memory_watch.h"
#include "trial/watch/process_watch.h"
#include "trial/watch/silence_watch.h"
#include "trial/watch/trial_sources.h"
#include "trial/watch/trial_verdict.h"
#include "trial/watch/window_watch.h"

namespace ocrtune {
namespace {

// Of a command whose speed is not measured.
constexpr double kSettleSeconds = 8;  // imports, warm-up; guess
constexpr double kWindowSeconds = 3;  // between looks at its threads' counters; guess

class TrialWatch {
 public:
  TrialWatch(const TrialPlan& plan, const TrialLimits& limits, Clock& clock)
      : plan_(plan), limits_(limits), clock_(clock) {
    facts_.user_command = plan.reader != nullptr;
    if (plan.watch_gpus) gpu_places_.emplace(plan.processes[0]);
  }

  Trial run() {
    trial_.started =
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(wall_seconds())));
    if (start()) loop();
    finish();
    return std::move(trial_);
  }

 private:
  const TrialPlan& plan_;
  const TrialLimits& limits_;
  Clock& clock_;
  double begin_ = now();
  Trial trial_;
  TrialFacts facts_;
  ProcessTree tree_;
  TrialSources sources_{plan_, clock_, sink()};
  ProcessWatch processes_{plan_, tree_, trial_};
  MemoryWatch memory_{tree_, plan_.demand.cpus, limits_.memory_limit_bytes, plan_.gpus};
  WindowWatch windows_{plan_.clocks(), limits_.measure_seconds, plan_.learning_batch > 0};
  LearningCurve learning_{plan_.clocks(), plan_.learning_batch};
  ExitWatch exits_{[this](std::size_t i) { return tree_.roots()[i]->poll_exit(); }};
  SilenceWatch silence_{plan_.silence, limits_.expected_step_seconds,
                        [this](bool anew) { return processes_.cpu_seconds(anew); }};
  std::optional<GpuPlaces> gpu_places_;
  std::set<int> ready_;     // ranks
  double first_step_ = -1;  // when; -1: not yet
  bool measuring_ = false, stopped_ = false, part_measured_ = false;
  bool impossible_ = false;  // a step was told that is
  double next_window_ = -1;  // of one that is only listened to

  double now() const { return clock_.now_seconds(); }
  void note(const std::string& line) {  // for people
    if (!line.empty()) trial_.evidence.push_back(line);
  }
  void stop(const std::optional<TrialStop>& found) {
    if (stopped_ || !found) return;
    // The first reason counts: what follows is often its consequence.
    stopped_ = true;
    facts_.stop = found->cause;
    facts_.stop_reason = found->reason;
  }
  bool refuse(const Error& error) {
    const bool full = error.kind == ErrorKind::exhausted;
    stop(TrialStop{full ? StopCause::exhausted : StopCause::refused, error.what});
    return false;
  }

  // One after the other; the first that cannot be started ends the trial.
  bool start() {
    for (ProcessOptions options : plan_.processes) {
      const Status opened = sources_.open(options);
      if (!opened) return refuse(opened.error());
      for (const std::string& group : options.join_groups) processes_.oom().add_group_file(group);
      const auto process = tree_.start(options);
      if (!process) return refuse(process.error());
      processes_.oom().add_process((*process)->pid());
      sources_.started();
      exits_.add_process();
      silence_.add_process(now());
    }
    processes_.load().open(now());
    return true;
  }

  void loop() {
    while (!stopped_) {
      sources_.wait(tree_, memory_.next_seconds() - now());
      read_everything();
      stop(processes_.look(now()));
      if (gpu_places_) gpu_places_->look(now(), measuring_, processes_.oom().pids());
      stop(memory_.look(now()));
      look_while_listening();
      look_at_part();
      look_at_exits();
      if (!stopped_) stop(look_at_time());
    }
  }

  TrialSources::Sink sink() {
    return {[this](const Event& event) { on_event(event); },
            [this](const std::string& line) {
              if (stopped_) return;
              if (facts_.broken_event.empty()) facts_.broken_event = line;
              // Failing ranks get a moment to say why (ExitWatch), since the first one drags the
              // others along.
              exits_.fail(now());
            },
            [this](int process) { silence_.hear(process, now()); },
            [this] {
              const bool hopeless = !plan_.part.follows && plan_.reader->is_hopeless();
              // The reason is asked of the reader in finish(), with all lines it got.
              if (hopeless) stop(TrialStop{StopCause::no_metric, ""});
            }};
  }

  void read_everything() {
    sources_.look(tree_);
    if (!stopped_) look_at_windows();
  }

  void on_event(const Event& event) {
    if (stopped_) return;
    const int rank = std::visit([](const auto& one) { return one.rank; }, event);
    silence_.hear(plan_.event_ranks > 0 ? 0 : rank, now());  // one process may speak for many
    if (const auto* hello = std::get_if<HelloEvent>(&event)) stop(processes_.check(*hello));
    if (const auto* ready = std::get_if<ReadyEvent>(&event)) on_ready(*ready);
    if (const auto* step = std::get_if<StepEvent>(&event)) on_step(*step);
    if (const auto* one = std::get_if<NoteEvent>(&event)) note(one->text);
    if (const auto* slow = std::get_if<SlowHostEvent>(&event)) trial_.slow_host = slow->host;
    if (const auto* service = std::get_if<ServiceEvent>(&event)) {
      trial_.service = service->facts;
      trial_.start_seconds = service->start_seconds;
    }
    if (const auto* answers = std::get_if<AnswersEvent>(&event)) trial_.same = answers->same;
    if (const auto* result = std::get_if<ResultEvent>(&event)) on_result(*result);
    if (const auto* memory = std::get_if<MemoryEvent>(&event)) memory_.add(*memory, now());
    if (const auto* error = std::get_if<ErrorEvent>(&event)) {
      facts_.errors.push_back(*error);
      exits_.fail(now());
    }
  }

  void on_ready(const ReadyEvent& ready) {
    ready_.insert(ready.rank);
    if (ready.anew) windows_.forget();
    const std::size_t needed = plan_.reader != nullptr ? 1 : plan_.processes.size();
    // A reader begins anew while nothing was measured; own workers say "ready" once each.
    const bool again = plan_.reader != nullptr && !windows_.any();
    if ((!measuring_ || again) && ready_.size() >= needed) begin_measuring();
  }

  void begin_measuring() {
    measuring_ = true;
    windows_.begin();
    processes_.begin(now());
    memory_.begin(now());
    // The process that asks the service is not part of it.
    processes_.load().begin(now(), plan_.serves ? tree_.roots()[0]->pid() : 0,
                            plan_.of_user() ? plan_.given() : Environment());
  }

  // No step takes longer than its program has run; the factor is for rates that are rounded and for
  // several pieces of work at once. A guess.
  bool is_impossible(const StepEvent& step) const {
    constexpr double kMostTimes = 3;
    return plan_.reader != nullptr && step.seconds > kMostTimes * (now() - begin_);
  }

  void on_step(const StepEvent& step) {
    if (is_impossible(step)) {
      if (!std::exchange(impossible_, true)) {
        note(fmt::format("a line tells of {} for {}, after {}: it is passed over",
                         format_duration(step.seconds), how_many(step.samples, "sample"),
                         format_duration(now() - begin_)));
      }
      return;
    }
    if (first_step_ < 0) first_step_ = now();
    silence_.add_step(step.seconds / static_cast<double>(step.steps));
    learning_.add(step);
    if (measuring_) windows_.add(step);
  }

  void on_result(const ResultEvent& result) {
    if (!measuring_) begin_measuring();
    tree_.refresh();
    windows_.replace(result,
                     [this](Interference& found) { return processes_.load().close(now(), found); });
    trial_.evidence.push_back(result.text);
    check_measured();
    stop(TrialStop{StopCause::measured, result.text});
  }

  // What has to hold of a trial that was measured.
  void check_measured() {
    // A full reading now: the peak must be known when the trial ends well.
    stop(memory_.look(now(), true));
    stop(processes_.check_ranks());
  }

  void look_at_windows() {
    const auto reason = windows_.look([this](Interference& found) {
      processes_.scan(now());
      return processes_.load().close(now(), found);
    });
    if (!reason || exits_.failing() || plan_.part.follows) return;
    if (!part_measured_) check_measured();
    if (!plan_.part.measured) return stop(TrialStop{StopCause::measured, *reason});
    if (!part_measured_ && !stopped_) plan_.part.measured();  // all hosts' parts end together
    part_measured_ = true;
  }

  void look_while_listening() {
    if (!plan_.listens) return;
    if (next_window_ < 0) next_window_ = begin_ + kSettleSeconds;
    if (now() < next_window_) return;
    next_window_ = now() + kWindowSeconds;
    if (!measuring_) return begin_measuring();
    Interference disturbed;  // no rate depends on it
    processes_.scan(now());
    processes_.load().close(now(), disturbed);
  }

  void look_at_part() {
    if (stopped_ || !plan_.part.ended || !plan_.part.ended()) return;
    if (plan_.part.follows) check_measured();
    const bool whole = plan_.part.follows || part_measured_;
    const StopCause cause = whole ? StopCause::measured : StopCause::interrupted;
    stop(TrialStop{cause, "another host's part ended"});
  }

  void look_at_exits() {
    const std::size_t before = exits_.exits().size();
    const auto found = exits_.look(now());
    for (std::size_t i = before; i < exits_.exits().size(); ++i) {
      memory_.note_exit(exits_.exits()[i].exit, now());
    }
    if (!found || stopped_ || part_measured_) return;
    if (exits_.all_ended()) read_everything();  // their last words
    stop(found);
  }

  std::optional<TrialStop> look_at_time() {
    if (interrupted()) return TrialStop{StopCause::interrupted, "interrupted"};
    if (plan_.part.follows || part_measured_) return std::nullopt;  // its end is another's
    if (now() - begin_ <= limits_.max_seconds) {
      auto hung = silence_.look(now());
      if (hung) {
        for (const std::string& state : wait_states(tree_.members())) note(state);
      }
      return hung;
    }
    std::string reason = fmt::format("no measurement within {}: {} measured, {} needed",
                                     format_duration(limits_.max_seconds),
                                     how_many(windows_.closed(), "interval"), facts_.min_windows);
    if (plan_.reader != nullptr && plan_.reader->known_lines() > 0) {
      reason += fmt::format(
          "; {} held a speed: its steps are too slow for this trial, or its epochs shorter "
          "than the printing interval",
          how_many(plan_.reader->known_lines(), "line"));
    }
    return TrialStop{StopCause::timed_out, std::move(reason)};
  }

  void finish() {
    processes_.finish(now());
    if (plan_.shm != nullptr) plan_.shm->look(tree_.members());
    const std::set<int> pids = processes_.oom().pids();
    if (gpu_places_) gpu_places_->finish(pids);
    facts_.windows = windows_.closed();
    facts_.exits = exits_.exits();
    if (plan_.reader != nullptr && facts_.stop == StopCause::none) {
      facts_.left_running = living_words(tree_.members());
    }
    const bool untold = plan_.reader != nullptr && plan_.reader->known_lines() == 0;
    const bool lives = facts_.stop == StopCause::no_metric || facts_.stop == StopCause::hung ||
                       facts_.stop == StopCause::timed_out;
    // While they live: who answers HTTP is a server and no training.
    if (untold && lives) facts_.http_port = http_port(tree_.members());
    end_processes(pids);
    if (plan_.reader != nullptr && plan_.reader->known_lines() == 0) {
      facts_.no_metric_reason = plan_.reader->why_unread(plan_.followed_file);
    }
    judge(pids);
    windows_.report(plan_.own_shares ? plan_.event_ranks : 0, trial_);
    trial_.learning.points = learning_.points();
    memory_.report(trial_);
    if (gpu_places_) {
      trial_.gpus = gpu_places_->shares();
      note(gpu_places_->words());
      note(idle_gpus_words(trial_.gpus));
    }
    processes_.report();
    // What judges itself has said its start: its result comes long after it.
    if (!windows_.judged() && first_step_ >= 0) trial_.start_seconds = first_step_ - begin_;
    trial_.seconds = now() - begin_;
  }

  void end_processes(const std::set<int>& pids) {
    // A failed trial is ended at once; one that was measured may put its things in order.
    const bool gently = facts_.stop == StopCause::measured || facts_.stop == StopCause::interrupted;
    const StopReport report = tree_.stop(gently ? plan_.stop_grace_seconds : 0);
    if (!report.survivors.empty()) note("could not be ended: " + join(report.survivors, ", "));
    if (plan_.shm == nullptr) return;
    // Before the files are removed: what the tree had open at any reading is its own.
    plan_.shm->add_used(memory_.shm_names());
    const auto shm = plan_.shm->remove(pids);
    if (!shm.removed.empty()) note("removed from /dev/shm: " + join(shm.removed, ", "));
  }

  void judge(const std::set<int>& pids) {
    FailureEvidence counters;
    facts_.oom = processes_.judge_kills(begin_, pids, counters);
    for (const auto& root : tree_.roots()) {
      const auto lines = static_cast<std::size_t>(std::max(1, plan_.log_lines));
      const std::string tail = without_copy_marks(root->output().tail(lines));
      if (!tail.empty()) trial_.log_tail += tail + "\n";
    }
    facts_.kill_told = facts_.oom.killed && tells_of_kill(trial_.log_tail);
    judge_trial(facts_, trial_);
    if (!trial_.ok()) trial_.counters = with_end(facts_, counters);
  }
};

}  // namespace

Trial watch_trial(const TrialPlan& plan, const TrialLimits& limits, Clock& clock) {
  return TrialWatch(plan, limits, clock).run();
}

}  // namespace ocrtune
