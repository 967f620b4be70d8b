#include "trial/watch/trial_watch.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/plural.h"
#include "base/process_tree.h"
#include "base/stats.h"
#include "base/text.h"
#include "probes/gpu/gpu_ids.h"
#include "trial/ipc/event_writer.h"
#include "trial/observe/count_limits.h"
#include "trial/observe/energy_counter.h"
#include "trial/observe/gpu_names.h"
#include "trial/observe/gpu_places.h"
#include "trial/observe/memory_sampler.h"
#include "trial/observe/oom_watch.h"
#include "trial/observe/undisturbed_rate.h"
#include "trial/observe/wait_states.h"
#include "trial/watch/file_follower.h"
#include "trial/watch/load_watch.h"
#include "trial/watch/preload_watch.h"
#include "trial/watch/step_windows.h"
#include "trial/watch/trial_verdict.h"

namespace ocrtune {
namespace {

constexpr double kTurnSeconds = 0.02;      // longest sleep of the loop
constexpr double kScanSeconds = 1.0;       // between looks for new processes, once it measures
constexpr double kStartScanSeconds = 0.1;  // before that, while they are being made
constexpr double kSettleSeconds = 0.3;     // after a first failure, to hear what the others say
constexpr std::int64_t kMaxAlikeSteps = 10000;  // of one event that are kept
constexpr double kMinObserved = 0.5;            // of a window's time, between the looks at its ends
constexpr double kHostReserve = 0.01;  // of MemAvailable at the start: below it the trial is ended

class TrialWatch {
 public:
  TrialWatch(const TrialPlan& plan, const TrialLimits& limits)
      : plan_(plan),
        limits_(limits),
        clock_(steady_clock()),
        begin_(clock_.now_seconds()),
        memory_(plan.demand.cpus),
        windows_(plan.clocks(), window_seconds(limits.measure_seconds)),
        stopping_({.measure_seconds = limits.measure_seconds}),
        followed_(plan.followed_file),
        preload_(plan.preload) {
    facts_.user_command = plan.reader != nullptr;
    if (plan.watch_gpus) gpu_places_.emplace(plan.processes[0]);
  }

  Trial run();

 private:
  bool start();
  void check_preload();
  void check_ranks();
  void note_memory();
  void summarise();
  void loop();
  void wait_for_news() const;
  void read_everything();
  void hear(const std::function<void(std::vector<Event>&)>& read);  // with the reader
  void on_output_line(const std::string& line) {
    hear([&](std::vector<Event>& events) { plan_.reader->read_line(line, now(), events); });
  }
  void on_pipe_event(const Event& event);
  void on_event(const Event& event);
  void on_hello(const HelloEvent& hello);
  void on_ready(const ReadyEvent& ready);
  void on_step(const StepEvent& step);
  void on_result(const ResultEvent& result);
  void on_memory(const MemoryEvent& memory);
  void begin_measuring();
  void close_windows();
  void look_at_part();
  void look_at_processes();
  void look_at_memory(bool force);
  void look_at_exits();
  void note_counters(const OomCounts& oom_after, const KernelLog& kernel_log);
  void look_at_time();
  void stop(StopCause cause, std::string reason);
  bool refuse_start(const Error& error) {
    const bool full = error.kind == ErrorKind::exhausted;
    stop(full ? StopCause::exhausted : StopCause::refused, error.what);
    return false;
  }
  void finish();

  double now() const { return clock_.now_seconds(); }
  bool failing() const { return first_failure_ >= 0; }
  bool is_users() const { return plan_.reader != nullptr || plan_.serves; }
  void note(const std::string& line) {  // for people
    if (!line.empty()) trial_.evidence.push_back(line);
  }
  void note_failure() { first_failure_ = failing() ? first_failure_ : now(); }

  const TrialPlan& plan_;
  const TrialLimits& limits_;
  Clock& clock_;
  double begin_;
  Trial trial_;
  TrialFacts facts_;
  ProcessTree tree_;
  std::vector<EventPipe> pipes_;
  std::vector<LineSplitter> lines_;
  MemorySampler memory_;
  StepWindows windows_;
  StoppingRule stopping_;
  FileFollower followed_;
  PreloadWatch preload_;
  std::optional<GpuPlaces> gpu_places_;
  OomWatch oom_;
  LoadWatch load_{tree_, plan_.demand};
  std::vector<Sample> unclosed_;     // windows whose end nobody has looked at yet
  std::map<int, RankShare> shares_;  // of each rank since the measuring began
  std::map<int, std::string> places_;
  std::map<int, std::uint64_t> gpu_bytes_;     // of each rank, at the latest
  std::uint64_t gpu_peak_ = 0, gpu_size_ = 0;  // of the fullest GPU
  std::string gpu_source_;
  std::set<int> ready_, exited_;
  std::vector<double> step_seconds_;
  std::vector<AlikeSteps> measured_steps_;  // one for each event, once it measures
  EnergyCounter energy_;
  std::uint64_t host_reserve_ = 0;
  double judged_rate_ = 0;  // that the measured process found for itself
  bool measuring_ = false, stopped_ = false, part_measured_ = false;
  double first_step_ = -1, first_failure_ = -1, last_scan_ = -1, measuring_since_ = 0;
  CountWatch counts_;
  std::vector<double> news_;  // when each process was last heard of
  double cpu_at_news_ = 0;    // of the tree, when the most silent one was last heard of
};

bool TrialWatch::start() {
  host_reserve_ =
      static_cast<std::uint64_t>(kHostReserve * static_cast<double>(host_available_bytes()));
  for (ProcessOptions options : plan_.processes) {
    auto pipe = EventPipe::open_for(options, /*by_path=*/plan_.reader != nullptr);
    if (!pipe) return refuse_start(pipe.error());
    pipes_.push_back(*std::move(pipe));
    for (const std::string& group : options.join_groups) oom_.add_group_file(group);
    const auto process = tree_.start(options);
    if (!process) return refuse_start(process.error());
    oom_.add_process((*process)->pid());
    if (plan_.reader == nullptr) pipes_.back().close_write();
    lines_.emplace_back();
    news_.push_back(now());
  }
  load_.open(now());
  return true;
}

void TrialWatch::wait_for_news() const {
  std::vector<pollfd> polled;
  for (const EventPipe& pipe : pipes_) {
    if (pipe.read_descriptor() >= 0) polled.push_back({pipe.read_descriptor(), POLLIN, 0});
  }
  for (const auto& root : tree_.roots()) {
    if (root->output_descriptor() >= 0) polled.push_back({root->output_descriptor(), POLLIN, 0});
  }
  const double pause =
      std::clamp(memory_.next_seconds(limits_.memory_limit_bytes) - now(), 0.001, kTurnSeconds);
  ::poll(polled.data(), polled.size(), static_cast<int>(std::ceil(pause * 1000)));
}

void TrialWatch::hear(const std::function<void(std::vector<Event>&)>& read) {
  std::vector<Event> events;
  read(events);
  for (const Event& event : events) on_event(event);
  if (!plan_.part.follows && plan_.reader->is_hopeless()) stop(StopCause::no_metric, "");
}

void TrialWatch::on_pipe_event(const Event& event) {
  if (plan_.reader == nullptr) return on_event(event);
  news_[0] = now();
  hear([&](std::vector<Event>& events) { plan_.reader->read_event(event, now(), events); });
}

void TrialWatch::read_everything() {
  for (std::size_t i = 0; i < tree_.roots().size(); ++i) {
    const std::size_t got = tree_.roots()[i]->read_output([&](std::string_view bytes) {
      if (plan_.reader == nullptr || !plan_.followed_file.empty()) return;
      lines_[i].add(bytes, [&](const std::string& line) { on_output_line(line); });
    });
    // A user command's words are signs of life; a worker's only sign is an event.
    if (got > 0 && plan_.reader != nullptr) news_[i] = now();
  }
  if (!plan_.followed_file.empty()) {
    const bool grew = followed_.read([&](const std::string& line) { on_output_line(line); });
    if (grew) news_[0] = now();
  }
  for (EventPipe& pipe : pipes_) {
    pipe.read([&](const Event& event) { on_pipe_event(event); },
              [&](const std::string& broken) {
                if (stopped_ || plan_.reader != nullptr) return;
                if (facts_.broken_event.empty()) facts_.broken_event = broken;
                note_failure();
              });
  }
  close_windows();
}

void TrialWatch::on_event(const Event& event) {
  if (stopped_) return;
  int rank = std::visit([](const auto& one) { return one.rank; }, event);
  if (plan_.event_ranks > 0) rank = 0;  // it is process 0 that speaks
  if (rank >= 0 && static_cast<std::size_t>(rank) < news_.size()) {
    news_[static_cast<std::size_t>(rank)] = now();
  }
  if (const auto* hello = std::get_if<HelloEvent>(&event)) on_hello(*hello);
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
  if (const auto* memory = std::get_if<MemoryEvent>(&event)) on_memory(*memory);
  if (const auto* error = std::get_if<ErrorEvent>(&event)) {
    facts_.errors.push_back(*error);
    note_failure();
  }
}

void TrialWatch::on_hello(const HelloEvent& hello) {
  places_[hello.rank] = hello.cpus + (hello.gpu.empty() ? "" : "@" + hello.gpu);
  const auto rank = static_cast<std::size_t>(std::max(0, hello.rank));
  if (rank < plan_.gpus.size() && !same_gpu_uuid(plan_.gpus[rank], hello.gpu)) {
    return stop(StopCause::refused,
                fmt::format("rank {} computes on {} instead of {}", hello.rank,
                            hello.gpu.empty() ? "no GPU" : hello.gpu, plan_.gpus[rank]));
  }
  if (rank < plan_.masks.size() && !plan_.masks[rank].empty() &&
      plan_.masks[rank].text() != hello.cpus) {
    stop(StopCause::refused, fmt::format("rank {} runs on CPUs {} instead of {}", hello.rank,
                                         hello.cpus, plan_.masks[rank].text()));
  } else if (plan_.threads > 0 && hello.team_size > 0 && hello.team_size != plan_.threads) {
    stop(StopCause::refused,
         fmt::format("rank {} got {} OpenMP threads instead of {} (OMP_THREAD_LIMIT, OMP_DYNAMIC?)",
                     hello.rank, hello.team_size, plan_.threads));
  }
}

void TrialWatch::on_memory(const MemoryEvent& memory) {
  gpu_bytes_[memory.rank] = memory.bytes;
  gpu_size_ = std::max(gpu_size_, memory.total_bytes);
  gpu_source_ = memory.source;
  const std::uint64_t fullest = fullest_gpu_bytes(plan_.gpus, gpu_bytes_, memory.source);
  gpu_peak_ = std::max(gpu_peak_, fullest);
  if (measuring_) trial_.memory_trace.push_back({now() - measuring_since_, fullest});
}

void TrialWatch::on_ready(const ReadyEvent& ready) {
  ready_.insert(ready.rank);
  if (ready.anew) {
    trial_.samples.clear();
    facts_.windows = 0;
    stopping_ = StoppingRule({.measure_seconds = limits_.measure_seconds});
    shares_.clear();
    measured_steps_.clear();
  }
  const std::size_t needed = plan_.reader != nullptr ? 1 : plan_.processes.size();
  const bool again = plan_.reader != nullptr && trial_.samples.empty();
  if ((!measuring_ || again) && ready_.size() >= needed) begin_measuring();
}

void TrialWatch::begin_measuring() {
  measuring_ = true;
  measuring_since_ = now();
  windows_.restart();
  unclosed_.clear();
  energy_.take_joules();
  tree_.scan();
  last_scan_ = now();
  if (plan_.binder != nullptr) {
    plan_.binder->look(tree_.members());
    plan_.binder->bind_again(tree_.members());
  }
  memory_.update(tree_, now(), limits_.memory_limit_bytes, true);
  load_.begin(now(), plan_.serves ? tree_.roots()[0]->pid() : 0);
}

void TrialWatch::on_step(const StepEvent& step) {
  if (first_step_ < 0) first_step_ = now();
  step_seconds_.push_back(step.seconds / static_cast<double>(step.steps));
  if (!measuring_) return;
  shares_[step.rank].samples += static_cast<double>(step.samples);
  shares_[step.rank].seconds += step.seconds;
  measured_steps_.push_back({step_seconds_.back(), std::min(step.steps, kMaxAlikeSteps)});
  const auto sample = windows_.add(step);
  if (sample) unclosed_.push_back(*sample);
}

// One figure for the whole time since the measuring began.
void TrialWatch::on_result(const ResultEvent& result) {
  if (!measuring_) begin_measuring();
  tree_.refresh();
  unclosed_.clear();
  Sample sample{result.samples_per_second, result.seconds, result.samples, {}, {}};
  load_.close(now(), sample.interference);
  trial_.samples = {sample};
  judged_rate_ = result.samples_per_second;
  trial_.evidence.push_back(result.text);
  look_at_memory(true);
  check_ranks();
  stop(StopCause::measured, result.text);
}

// Windows that came in one read cannot be observed apart: they are one.
void TrialWatch::close_windows() {
  if (unclosed_.empty() || stopped_) return;
  Sample sample = merged(unclosed_);
  const std::size_t windows = unclosed_.size();
  unclosed_.clear();
  tree_.scan();
  last_scan_ = now();
  const double observed = load_.close(now(), sample.interference);
  if (observed < kMinObserved * sample.seconds) {
    sample.interference.spoilt_by =
        fmt::format("observed for {} of its {}", format_duration(std::max(0.0, observed)),
                    format_duration(sample.seconds));
    sample.interference.observed_seconds = 0;
  }
  trial_.samples.push_back(sample);
  stopping_.add(sample.samples_per_second, sample.seconds, sample.clean());
  facts_.windows += static_cast<int>(windows);
  const auto reason = stopping_.reason();
  if (!reason || failing() || plan_.part.follows) return;
  if (!part_measured_) {
    look_at_memory(true);
    check_ranks();
  }
  if (!plan_.part.measured) return stop(StopCause::measured, *reason);
  if (!part_measured_ && !stopped_) plan_.part.measured();  // all hosts' parts end together
  part_measured_ = true;
}

void TrialWatch::look_at_part() {
  if (stopped_ || !plan_.part.ended || !plan_.part.ended()) return;
  if (plan_.part.follows) {
    look_at_memory(true);
    check_ranks();
  }
  const bool measured = plan_.part.follows || part_measured_;
  stop(measured ? StopCause::measured : StopCause::interrupted, "another host's part ended");
}

void TrialWatch::look_at_processes() {
  load_.look(now());
  const double pause = measuring_ ? kScanSeconds : kStartScanSeconds;
  if (now() - last_scan_ < pause) return;
  tree_.scan();
  last_scan_ = now();
  oom_.look(tree_.members());
  if (plan_.binder != nullptr) plan_.binder->look(tree_.members());
  if (measuring_ && is_users()) load_.threads().look_at(tree_.members());
  if (is_users()) counts_.look(now(), tree_.members(), trial_);
  check_preload();
}

void TrialWatch::check_preload() {
  preload_.look(tree_.members());
  if (!measuring_) return;
  std::string missed = preload_.missed();
  if (!missed.empty()) stop(StopCause::not_loaded, std::move(missed));
}

void TrialWatch::check_ranks() {
  if (plan_.binder == nullptr && plan_.preload.empty()) return;
  const std::vector<ProcessFacts>& members = tree_.scan();
  check_preload();
  if (plan_.binder == nullptr) return;
  plan_.binder->look(members);
  const int seen = plan_.binder->ranks_seen();
  for (const ProcessFacts& process : members) {
    if (seen == 0 && process.pid == tree_.roots()[0]->pid()) plan_.binder->take_as_rank(process);
  }
  if (plan_.ranks > 0 && seen > 0 && seen != plan_.ranks) {
    stop(StopCause::refused, fmt::format("the command runs {}, not {}: does it use {{nproc}}?",
                                         how_many(seen, "rank"), plan_.ranks));
  }
  const auto misplaced = plan_.binder->misplaced(members);
  if (!misplaced.empty()) stop(StopCause::refused, misplaced[0]);
  for (const auto& [rank, cpus] : plan_.binder->places(members)) places_[rank] = cpus;
}

void TrialWatch::look_at_memory(bool force) {
  const std::uint64_t limit = limits_.memory_limit_bytes;
  if (!force && now() < memory_.next_seconds(limit)) return;
  memory_.update(tree_, now(), limit, force);
  if (measuring_ && plan_.gpus.empty()) {
    trial_.memory_trace.push_back({now() - measuring_since_, memory_.bytes()});
  }
  if (stopped_) return;
  if (memory_.reached(limit)) {
    stop(StopCause::memory_limit, fmt::format("stopped at {} of a limit of {}",
                                              format_bytes(memory_.bytes()), format_bytes(limit)));
  } else if (host_available_bytes() < host_reserve_) {
    stop(StopCause::host_memory,
         fmt::format("stopped: the machine had {} of memory left, {} of it used by the trial",
                     format_bytes(host_available_bytes()), format_bytes(memory_.bytes())));
  }
}

void TrialWatch::look_at_exits() {
  for (std::size_t i = 0; i < tree_.roots().size(); ++i) {
    const auto& exit = tree_.roots()[i]->poll_exit();
    if (!exit || !exited_.insert(static_cast<int>(i)).second) continue;
    facts_.exits.push_back({static_cast<int>(i), *exit});
    memory_.note_exit(tree_, *exit, now());
    note_failure();  // even a clean end is one: nobody was asked to end
  }
  if (!failing() || stopped_ || part_measured_) return;
  const bool all_exited = exited_.size() == tree_.roots().size();
  if (all_exited) read_everything();
  if (all_exited || now() - first_failure_ > kSettleSeconds) stop(StopCause::none, "");
}

void TrialWatch::look_at_time() {
  if (stopped_) return;
  if (interrupted()) return stop(StopCause::interrupted, "interrupted");
  if (plan_.part.follows || part_measured_) return;  // the end of the trial is another's
  if (now() - begin_ > limits_.max_seconds) {
    std::string reason = fmt::format("no measurement within {}: {} measured, {} needed",
                                     format_duration(limits_.max_seconds),
                                     how_many(facts_.windows, "interval"), facts_.min_windows);
    if (plan_.reader != nullptr && plan_.reader->known_lines() > 0) {
      reason += fmt::format(
          "; {} held a speed: its steps are too slow for this trial, or its epochs shorter "
          "than the printing interval",
          how_many(plan_.reader->known_lines(), "line"));
    }
    return stop(StopCause::timed_out, std::move(reason));
  }
  const double silent = now() - *std::min_element(news_.begin(), news_.end());
  if (silent < plan_.silence.min_seconds) {
    if (silent < kStartScanSeconds) {  // as of the last scan: near enough for a share
      cpu_at_news_ = tree_.gone_cpu_seconds();
      for (const ProcessFacts& process : tree_.members()) cpu_at_news_ += process.cpu_seconds;
    }
    return;
  }
  double cpu = tree_.gone_cpu_seconds() - cpu_at_news_;
  for (const ProcessFacts& process : tree_.refresh()) cpu += process.cpu_seconds;
  double expected = limits_.expected_step_seconds;
  if (step_seconds_.size() >= 3) expected = std::max(expected, median(step_seconds_));
  auto reason = hung_reason(plan_.silence, silent, cpu, expected, first_step_ >= 0);
  if (!reason) return;
  if (news_.size() > 1) {
    const auto rank = std::min_element(news_.begin(), news_.end()) - news_.begin();
    *reason = fmt::format("rank {} {}", rank, *reason);
  }
  trial_.evidence = wait_states(tree_.members());
  stop(StopCause::hung, *reason);
}

void TrialWatch::stop(StopCause cause, std::string reason) {
  if (stopped_) return;
  stopped_ = true;
  facts_.stop = cause;
  facts_.stop_reason = std::move(reason);
}

void TrialWatch::loop() {
  while (!stopped_) {
    wait_for_news();
    read_everything();
    look_at_processes();
    if (gpu_places_) gpu_places_->look(now(), measuring_, oom_.pids());
    look_at_memory(false);
    look_at_part();
    look_at_exits();
    look_at_time();
  }
}

void TrialWatch::finish() {
  const double joules = energy_.take_joules();
  tree_.scan();
  if (is_users()) {
    load_.threads().add_runtimes(tree_.members());
    counts_.finish(tree_.members(), trial_);
  }
  if (plan_.shm != nullptr) plan_.shm->look(tree_.members());
  oom_.look(tree_.members());
  const std::set<int> pids = oom_.pids();
  if (gpu_places_) gpu_places_->finish(pids);
  if (plan_.reader != nullptr && facts_.stop == StopCause::none) {
    facts_.left_running = living_words(tree_.members());
  }
  const bool gently = facts_.stop == StopCause::measured || facts_.stop == StopCause::interrupted;
  const StopReport report = tree_.stop(gently ? plan_.stop_grace_seconds : 0);
  if (!report.survivors.empty()) note("could not be ended: " + join(report.survivors, ", "));
  if (plan_.shm != nullptr) {
    plan_.shm->add_used(memory_.shm_names());
    const auto shm = plan_.shm->remove(pids);
    if (!shm.removed.empty()) note("removed from /dev/shm: " + join(shm.removed, ", "));
  }
  if (plan_.reader != nullptr && plan_.reader->known_lines() == 0) {
    facts_.no_metric_reason = plan_.reader->why_unread(plan_.followed_file);
  }
  const OomCounts oom_after = oom_.now();
  const KernelLog kernel_log = kernel_log_since(begin_);
  facts_.oom = judge_oom(oom_.before(), oom_after, kernel_log, pids);
  for (const auto& root : tree_.roots()) {
    const auto lines = static_cast<std::size_t>(std::max(1, plan_.log_lines));
    const std::string tail = root->output().tail(lines);
    if (!tail.empty()) trial_.log_tail += tail + "\n";
  }
  facts_.kill_told = facts_.oom.killed && tells_of_kill(trial_.log_tail);
  judge_trial(facts_, trial_);
  if (!trial_.ok()) note_counters(oom_after, kernel_log);
  summarise();
  double samples = 0;
  for (const Sample& one : trial_.samples) samples += one.samples_per_second * one.seconds;
  if (samples > 0) trial_.joules_per_sample = joules / samples;
}

void TrialWatch::note_counters(const OomCounts& oom_after, const KernelLog& kernel_log) {
  FailureEvidence& counters = trial_.counters;
  note_oom_growth(oom_.before(), oom_after, kernel_log, oom_.pids(), counters);
  counters.killed_by_us = facts_.stop != StopCause::none;
  counters.killed_why = facts_.stop_reason;
  for (const RankExit& one : facts_.exits) {
    if (one.exit.clean()) continue;
    counters.exit_code = one.exit.signal != 0 ? -one.exit.signal : one.exit.code;
    break;
  }
}

void TrialWatch::note_memory() {
  trial_.peak_bytes = trial_.host_peak_bytes = memory_.peak_bytes();
  const std::uint64_t possible = memory_.possible_peak_bytes();
  if (is_unsure_peak(trial_.host_peak_bytes, possible)) trial_.possible_peak_bytes = possible;
  note(unsure_peak_words(trial_.host_peak_bytes, possible));
  if (!plan_.gpus.empty()) {
    trial_.peak_bytes = gpu_peak_;
    if (gpu_peak_ > 0) trial_.gpus = {{-1, 0, true, gpu_peak_, gpu_size_}};
    trial_.evidence.push_back(fmt::format(
        "memory: {} on the fullest GPU ({}), {} of the machine's", format_bytes(gpu_peak_),
        gpu_source_.empty() ? "not reported" : gpu_source_, format_bytes(trial_.host_peak_bytes)));
  }
  if (!gpu_places_) return;
  trial_.gpus = gpu_places_->shares();
  note(gpu_places_->words());
  note(idle_gpus_words(trial_.gpus));
}

void TrialWatch::summarise() {
  leave_out_warm_up(trial_);
  if (plan_.own_shares) weigh_shares(shares_, plan_.event_ranks, trial_);
  const RateEstimate estimate = undisturbed_rate(trial_.samples);
  const double rate = judged_rate_ > 0 ? judged_rate_ : estimate.samples_per_second;
  trial_.samples_per_second = trial_.ok() ? rate : 0;
  if (trial_.ok() && !(judged_rate_ > 0)) {
    for (const std::string& line : rate_words(estimate)) note(line);
  }
  trial_.latency = step_latency(measured_steps_);
  note_memory();
  load_.threads().tell(trial_, is_users() ? plan_.demand.cpus : 0);
  trial_.stages = load_.stages().use(trial_.samples);
  // What judges itself has said its start: its result comes long after it.
  if (!(judged_rate_ > 0) && first_step_ >= 0) trial_.start_seconds = first_step_ - begin_;
  for (const auto& [rank, cpus] : places_) {
    trial_.placement += fmt::format("{}{}:{}", trial_.placement.empty() ? "" : " ", rank, cpus);
  }
  trial_.seconds = now() - begin_;
}

Trial TrialWatch::run() {
  trial_.started =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(wall_seconds())));
  if (start()) loop();
  finish();
  return std::move(trial_);
}

}  // namespace

Trial watch_trial(const TrialPlan& plan, const TrialLimits& limits) {
  return TrialWatch(plan, limits).run();
}

}  // namespace ocrtune
