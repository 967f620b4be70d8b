// The order at the end matters: read what is there, note who outlived the command, stop the tree,
// read again. Evidence is gathered last, since the kernel's counters and log are complete only
// then.
#include "extras/supervise/supervised_attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "diagnosis/log_scan.h"
#include "extras/supervise/gpu_memory_watch.h"
#include "extras/supervise/stall_watch.h"
#include "probes/host/cpu_limits.h"
#include "trial/observe/count_limits.h"
#include "trial/observe/gpu_places.h"
#include "trial/observe/memory_sampler.h"
#include "trial/observe/oom_watch.h"
#include "trial/observe/rank_binding.h"
#include "trial/observe/shm_leftovers.h"
#include "trial/observe/wait_states.h"

namespace ocrtune {
namespace {

constexpr double kFinishSeconds = 10;  // for a slow disk to take what is left

}  // namespace

// Appends to a file, in the writer's thread; the first failure is kept and ends the writing, not
// the run.
class AttemptFiles::Appender : public std::enable_shared_from_this<Appender> {
 public:
  Status open(const std::string& path) {
    path_ = path;
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return descriptor_ < 0 ? Status(system_error(errno, "open " + path)) : Status();
  }
  ~Appender() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  void put(BackgroundWriter& writer, std::string_view bytes) {
    if (descriptor_ < 0 || !problem().empty()) return;
    const bool taken = writer.put(bytes.size() + kPieceBytes,
                                  [self = shared_from_this(), text = std::string(bytes)] {
                                    if (self->problem().empty()) self->write(text);
                                  });
    if (!taken) fail(path_ + " takes nothing");
  }
  void fail(std::string problem) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = std::move(problem);
  }
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t kPieceBytes = 200;  // a guess of what a queued piece takes beside it

  void write(const std::string& text) {
    const Status written = write_all(descriptor_, text, path_);
    if (!written) fail(written.error().what);
  }

  int descriptor_ = -1;
  std::string path_;
  mutable std::mutex mutex_;
  std::string problem_;
};

AttemptFiles::AttemptFiles()
    : log_(std::make_shared<Appender>()), trace_(std::make_shared<Appender>()) {}
AttemptFiles::~AttemptFiles() = default;

Status AttemptFiles::open(const AttemptPlan& plan) {
  OCRTUNE_TRY(log_->open(plan.log_path));
  if (plan.trace_path.empty()) return Status();
  OCRTUNE_TRY(trace_->open(plan.trace_path));
  trace_->put(writer_, "seconds,bytes,shm_bytes,processes,progress_lines,open_files,gpu_bytes\n");
  return Status();
}

void AttemptFiles::write_output(std::string_view bytes) { log_->put(writer_, bytes); }

std::string AttemptFiles::log_problem() const { return log_->problem(); }

void AttemptFiles::finish() {
  if (!writer_.finish(kFinishSeconds)) log_->fail(log_->path() + " takes nothing");
}

void AttemptFiles::write_status(const AttemptStatus& status) {
  trace_->put(writer_, fmt::format("{:.1f},{},{},{},{},{},{}\n", status.seconds, status.bytes,
                                   status.shm_bytes, status.processes, status.progress_lines,
                                   status.open_files, status.gpu_bytes));
}

Status fill_attempt(const Machine& machine, const TrialPlace& place, AttemptPlan& plan) {
  const LaunchSetting& setting = plan.setting;
  auto filled = OCRTUNE_TRY(fill_for(setting.workload, machine, setting.knobs, place));
  if (names_used(setting.workload).count("trial_dir") != 0) {
    OCRTUNE_TRY(make_directories(place.trial_dir));
  }
  const int oom_score_adjust = plan.process.oom_score_adjust;
  // It replaces all options, and the caller's score is one of them.
  plan.process = process_options(filled.launch);
  plan.process.oom_score_adjust = oom_score_adjust;
  plan.masks = std::move(filled.masks);
  return Status();
}

std::string AttemptEnd::text() const {
  std::string words = exit.text();
  if (stop != AttemptStop::none) words = evidence.killed_why;
  if (stop != AttemptStop::none && stop != AttemptStop::host_lost) words = "stopped: " + words;
  if (!host.empty()) words = host + ": " + words;
  if (!links_down.empty()) words += "; network interface down: " + join(links_down, ", ");
  return words;
}

namespace {

constexpr double kStatusEvery = 1.0;
constexpr double kGpusEvery = 20;
constexpr double kDescriptorsEvery = 5.0;
constexpr double kStartSeconds = 60;
constexpr double kScanEveryAtStart = 0.1;
constexpr std::uint64_t kGrowsOn = 20;  // by a 20th of what it held at its limit
constexpr int kLastReads = 2;           // of 1 MiB, which is what the pipe holds

std::optional<std::uint64_t> shm_size() {
  struct statvfs facts {};
  if (::statvfs("/dev/shm", &facts) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(facts.f_blocks) * facts.f_frsize;
}

double usable_cpus() {
  Notes notes;
  return read_cpu_limits(FileRoot(), process_environment(), {}, notes).usable.value_or(0);
}

// Counts that the command has no place for.
std::set<std::string> fixed_knobs(const CommandWorkload& workload) {
  std::set<std::string> fixed;
  for (const char* name : {"nproc", "threads", "workers", "batch"}) {
    if (!turns(workload, name)) fixed.insert(name);
  }
  return fixed;
}

class Attempt {
 public:
  Attempt(const AttemptPlan& plan, const AttemptListeners& listeners)
      : plan_(plan),
        listeners_(listeners),
        memory_(std::thread::hardware_concurrency()),
        stages_(tree_, usable_cpus(), fixed_knobs(plan.setting.workload), plan.stages),
        binder_(plan.masks),
        stall_watch_(plan.stall_seconds > 0
                         ? std::min(plan.stall_seconds, plan.stall_warning_seconds)
                         : plan.stall_warning_seconds),
        gpu_use_(plan.process) {}

  Result<AttemptEnd> run();

 private:
  Status open();
  void listen(std::string_view bytes);
  void look(double now);
  void look_for_processes(double now);
  void look_for_stall(double now, const std::vector<ProcessFacts>& members);
  AttemptStop reason_to_stop() const;
  StopReport stop_tree();
  void read_rest();
  void remove_shm();
  void gather();

  const AttemptPlan& plan_;
  const AttemptListeners& listeners_;
  ProcessTree tree_;
  Process* root_ = nullptr;
  MemorySampler memory_;
  StageWatch stages_;
  ShmLeftovers shm_;
  AttemptFiles files_;
  LineSplitter lines_;
  AttemptEnd end_;
  RankBinder binder_;
  StallWatch stall_watch_;
  GpuMemoryWatch gpu_;
  GpuUseNotes gpu_use_;
  std::optional<Stall> stall_;
  double started_ = 0, last_output_ = 0, last_descriptors_ = -kDescriptorsEvery, last_scan_ = -1;
  OomWatch oom_;
  std::uint64_t shm_peak_ = 0;
  CountUse files_peak_;
};

Status Attempt::open() {
  OCRTUNE_TRY(files_.open(plan_));
  // Before the start: the counters of the group as they were.
  for (const std::string& group : plan_.process.join_groups) oom_.add_group_file(group);
  root_ = OCRTUNE_TRY(tree_.start(plan_.process));
  oom_.add_process(root_->pid());
  return Status();
}

void Attempt::listen(std::string_view bytes) {
  last_output_ = steady_clock().now_seconds();
  files_.write_output(bytes);
  if (listeners_.on_output) listeners_.on_output(bytes);
  lines_.add(bytes, [this](const std::string& line) {
    if (!is_progress_line(line)) return;
    stages_.take_line(line);
    AttemptStatus& status = end_.last;
    status.progress_lines += 1;
    // Lines of progress bars may be of any length.
    status.last_progress = line.substr(0, 400);
    status.furthest.advance(position_of(status.last_progress));
    stall_watch_.progress(last_output_);
    if (status.first_progress_seconds < 0) status.first_progress_seconds = last_output_ - started_;
  });
}

void Attempt::look(double now) {
  tree_.scan();
  memory_.update(tree_, now, plan_.memory_limit_bytes);
  const std::vector<ProcessFacts>& members = tree_.members();
  oom_.look(members);
  AttemptStatus& status = end_.last;
  status.seconds = now - started_;
  status.silent_seconds = now - last_output_;
  status.bytes = memory_.bytes();
  status.available_bytes = host_available_bytes();
  status.shm_bytes = shm_used_bytes();
  status.shm_limit_bytes = shm_size().value_or(0);
  status.processes = static_cast<int>(members.size());
  shm_peak_ = std::max(shm_peak_, status.shm_bytes);
  if (now - last_descriptors_ >= kDescriptorsEvery) {
    last_descriptors_ = now;
    const CountUse files = fullest_file_table(members).value_or(CountUse());
    status.open_files = static_cast<std::int64_t>(files.peak);
    status.open_files_limit = static_cast<std::int64_t>(files.limit);
    if (files.peak > files_peak_.peak) files_peak_ = files;
  }
  const bool working = status.progress_lines > 0;
  // Once it makes progress: each second until some use of a GPU is known, then now and then.
  const double every = working && !gpu_use_.any() ? kStatusEvery : kGpusEvery;
  if (auto report = gpu_.look(now, every)) {
    gpu_use_.take(std::move(*report), oom_.pids(), working);
    if (std::string idle = idle_gpus_words(gpu_use_.shares()); !idle.empty()) {
      status.idle_gpus = std::move(idle);
    }
  }
  if (const auto& gpu = gpu_.fullest()) {
    status.gpu_bytes = gpu->used_bytes;
    status.gpu_limit_bytes = gpu->size_bytes;
  }
  look_for_stall(now, members);
  status.log_problem = files_.log_problem();
  files_.write_status(status);
  if (listeners_.on_status) listeners_.on_status(status);
}

// Ten times a second at the start, when processes are made: ranks are bound as soon as they are
// seen.
void Attempt::look_for_processes(double now) {
  if (plan_.masks.empty()) return;  // look() is enough
  const bool starting = now - started_ < kStartSeconds;
  if (now - last_scan_ < (starting ? kScanEveryAtStart : kStatusEvery)) return;
  last_scan_ = now;
  tree_.scan();
  binder_.look(tree_.members());
  end_.last.places = binder_.places(tree_.members());
}

void Attempt::look_for_stall(double now, const std::vector<ProcessFacts>& members) {
  if (plan_.masks.empty()) binder_.look(members);
  std::map<int, double> cpu_seconds;
  for (const ProcessFacts& member : members) {
    if (const auto rank = binder_.rank_of(member)) cpu_seconds[*rank] += member.cpu_seconds;
  }
  const bool was = stall_.has_value();
  stall_ = stall_watch_.look(now, cpu_seconds);
  if (!stall_) {
    end_.last.stall.clear();
  } else {
    // Once a stall, when it is found: later the ranks may have been killed.
    if (!was) end_.evidence.wait_states = wait_states(members);
    end_.last.stall = stall_->words;
  }
}

AttemptStop Attempt::reason_to_stop() const {
  if (interrupted() || (listeners_.ended && listeners_.ended())) return AttemptStop::interrupted;
  if (plan_.silence_seconds > 0 && end_.last.silent_seconds > plan_.silence_seconds) {
    return AttemptStop::silent;
  }
  if (plan_.stall_seconds > 0 && stall_ && stall_->seconds >= plan_.stall_seconds) {
    return AttemptStop::stalled;
  }
  if (memory_.reached(plan_.memory_limit_bytes)) return AttemptStop::memory;
  return AttemptStop::none;
}

// Who has reached the memory limit may save its state, and is killed at once should it grow on.
StopReport Attempt::stop_tree() {
  if (end_.stop != AttemptStop::memory) return tree_.stop(plan_.stop_grace_seconds);
  end_.last.bytes = memory_.bytes();
  const std::uint64_t bound = end_.last.bytes + end_.last.bytes / kGrowsOn;
  return tree_.stop(plan_.stop_grace_seconds, [&] {
    const double now = steady_clock().now_seconds();
    if (now >= memory_.next_seconds(bound)) memory_.update(tree_, now, bound);
    return memory_.reached(bound);
  });
}

// A command that ends well may leave there what it likes.
void Attempt::remove_shm() {
  if (end_.clean()) return;
  shm_.add_used(memory_.shm_names());
  for (const std::string& path : plan_.kept_paths) shm_.keep(path);
  end_.removed_shm = shm_.remove(oom_.pids()).removed;
}

void Attempt::gather() {
  FailureEvidence& evidence = end_.evidence;
  const KernelLog kernel_log = kernel_log_since(started_);
  note_oom_growth(oom_.before(), oom_.now(), kernel_log, oom_.pids(), evidence);
  // The kernel names its victims; lines about other programs are not ours to tell.
  end_.kernel_log = kills_of(kernel_log, oom_.pids());
  evidence.exit_code = end_.exit.signal != 0 ? -end_.exit.signal : end_.exit.code;
  evidence.peak_bytes = end_.peak_bytes = memory_.peak_bytes();
  end_.possible_peak_bytes = memory_.possible_peak_bytes();
  if (plan_.memory_limit_bytes > 0) evidence.limit_bytes = plan_.memory_limit_bytes;
  evidence.shm_peak_bytes = shm_peak_;
  evidence.shm_size_bytes = shm_size();
  if (files_peak_.peak > 0) {
    evidence.descriptors_peak = static_cast<std::int64_t>(files_peak_.peak);
    evidence.descriptors_limit = static_cast<std::int64_t>(files_peak_.limit);
  }
  if (const auto& gpu = gpu_.fullest()) {
    evidence.gpu_peak_bytes = gpu_.peak_bytes();
    evidence.gpu_size_bytes = gpu->size_bytes;
  }
  evidence.silent_seconds = end_.last.silent_seconds;
  evidence.killed_by_us = end_.stop != AttemptStop::none;
  if (end_.stop == AttemptStop::interrupted) evidence.killed_why = "interrupted";
  if (end_.stop == AttemptStop::silent) {
    evidence.killed_why = "silent for " + format_duration(end_.last.silent_seconds);
  }
  if (end_.stop == AttemptStop::stalled) {
    evidence.killed_why = end_.last.stall;
    evidence.stalled_ranks = std::max(stall_->ranks, 1);
  }
  if (end_.stop == AttemptStop::memory) {
    evidence.killed_why =
        fmt::format("memory {} reached the limit of {}", format_bytes(end_.last.bytes),
                    format_bytes(plan_.memory_limit_bytes));
  }
}

// What is there, and no more: what the command has left behind may write for ever.
void Attempt::read_rest() {
  for (int more = 0; more < kLastReads && root_->read_output({}) > 0; ++more) {
  }
}

Result<AttemptEnd> Attempt::run() {
  Clock& clock = steady_clock();
  started_ = last_output_ = clock.now_seconds();
  OCRTUNE_TRY(open());
  root_->set_listener([this](std::string_view bytes) { listen(bytes); });
  double next_look = started_;
  while (!root_->poll_exit() && end_.stop == AttemptStop::none) {
    pollfd waiting{root_->output_descriptor(), POLLIN, 0};
    if (waiting.fd < 0) {
      clock.sleep_seconds(0.05);
    } else {
      ::poll(&waiting, 1, 100);
    }
    root_->read_output({});
    const double now = clock.now_seconds();
    look_for_processes(now);
    if (auto held = stages_.look(now)) end_.last.held = *std::move(held);
    if (now >= next_look) {
      look(now);
      next_look = now + kStatusEvery;
    } else if (now >= memory_.next_seconds(plan_.memory_limit_bytes)) {
      memory_.update(tree_, now, plan_.memory_limit_bytes);
    }
    end_.stop = reason_to_stop();
  }
  read_rest();
  tree_.scan();
  if (root_->poll_exit()) {
    end_.left_over = static_cast<int>(tree_.members().size());
    memory_.note_exit(tree_, *root_->poll_exit(), clock.now_seconds());
  }
  oom_.look(tree_.members());
  shm_.look(tree_.members());
  end_.last.seconds = clock.now_seconds() - started_;
  end_.survivors = stop_tree().survivors;
  read_rest();
  end_.exit = root_->wait(5).value_or(ProcessExit{0, SIGKILL, 0, 0});
  root_->set_listener({});
  files_.finish();
  end_.last.log_problem = files_.log_problem();
  end_.output = root_->output().contents();
  remove_shm();
  gather();
  return std::move(end_);
}

}  // namespace

Result<AttemptEnd> run_attempt(const AttemptPlan& plan, const AttemptListeners& listeners) {
  return Attempt(plan, listeners).run();
}

}  // namespace ocrtune
