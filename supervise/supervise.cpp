#include "supervise/supervise.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/plural.h"
#include "base/secrets.h"
#include "base/text.h"
#include "diagnosis/log_scan.h"
#include "supervise/growth_watch.h"
#include "trial/free_port.h"
#include "trial/observe/memory_sampler.h"

namespace ocrtune {
namespace {

double modified(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return 0;
  return static_cast<double>(facts.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(facts.st_mtim.tv_nsec);
}

// Where training programs keep their weights and states: Paddle, PyTorch, Lightning, Hugging Face.
constexpr std::array<const char*, 10> kCheckpointEnds = {
    ".pdparams", ".pdopt",       ".states", ".pt", ".pth",
    ".ckpt",     ".safetensors", ".bin",    ".h5", ".npz"};
constexpr std::array<const char*, 3> kPaddleEnds = {".pdparams", ".pdopt", ".states"};

// The newest in the folder and two levels below; all of a folder named checkpoint-500 counts.
void look_for_checkpoint(const std::string& folder, int depth, FoundCheckpoint& found) {
  const std::string own = folder.substr(folder.rfind('/') + 1);
  const bool whole =
      depth > 0 && (starts_with(own, "checkpoint") || starts_with(own, "global_step"));
  for (const std::string& name : list_directory(folder).value_or({})) {
    const std::string path = join_path(folder, name);
    if (is_directory(path)) {
      if (depth < 2) look_for_checkpoint(path, depth + 1, found);
      continue;
    }
    const auto ends = [&](const char* end) { return ends_with(name, end); };
    const bool kept = std::any_of(kCheckpointEnds.begin(), kCheckpointEnds.end(), ends);
    const double seconds = whole || kept ? modified(path) : 0;
    if (seconds <= found.seconds) continue;
    found.seconds = seconds;
    if (std::any_of(kPaddleEnds.begin(), kPaddleEnds.end(), ends)) {
      found.path = path.substr(0, path.rfind('.'));
    }
  }
}

class Supervisor {
 public:
  Supervisor(const SuperviseOptions& options, const AttemptRunner& attempt,
             const SuperviseListeners& listeners, Clock& clock, Journal journal)
      : options_(options),
        attempt_(attempt),
        listeners_(listeners),
        clock_(clock),
        journal_(std::move(journal)),
        setting_(options.setting),
        growth_(options.memory_limit_bytes, options.planned_seconds) {}

  Result<SuperviseEnd> run();

 private:
  Result<AttemptPlan> plan_attempt(int number);
  void watch(const AttemptStatus& status);
  void tell_log_problem(const AttemptStatus& status);
  void warn(const std::string& kind, const std::string& words, double seconds);
  void begin_attempt();
  Diagnosis diagnose_attempt(const AttemptEnd& end, int number, double started);
  // What to change for the next attempt, or empty with `why` when there shall be none.
  std::optional<std::string> next_step(const AttemptEnd& end, const Diagnosis& diagnosis,
                                       bool moved_on, std::string& why);
  AttemptSummary summary(const AttemptPlan& plan, const AttemptEnd& end) const;
  void note(const std::string& line) {
    if (listeners_.on_note) listeners_.on_note(line);
  }
  void pause();

  const SuperviseOptions& options_;
  const AttemptRunner& attempt_;
  const SuperviseListeners& listeners_;
  Clock& clock_;
  Journal journal_;
  LaunchSetting setting_;
  GrowthWatch growth_;
  std::map<std::string, double> warned_at_;  // kind -> second of this attempt
  std::vector<std::string> warnings_;        // of this attempt
  std::map<int, std::string> places_;
  bool log_problem_told_ = false;
  int warned_ = 0, failures_ = 0, unchanged_ = 0;
  int incurable_ = 0;  // failures in a row that a restart cannot cure
};

std::string places_text(const std::map<int, std::string>& places) {
  std::vector<std::string> texts;
  for (const auto& [rank, cpus] : places) texts.push_back(fmt::format("{}:{}", rank, cpus));
  return join(texts, " ");
}

// Each attempt is a new process tree: nothing of the last one's memory says anything about it.
void Supervisor::begin_attempt() {
  growth_ = GrowthWatch(options_.memory_limit_bytes, options_.planned_seconds);
  warned_at_.clear();
  warnings_.clear();
  places_.clear();
}

Result<AttemptPlan> Supervisor::plan_attempt(int number) {
  // One folder for all attempts: a later one finds what an earlier one saved.
  const std::string folder =
      real_path(options_.run_directory).value_or(options_.run_directory);  // it runs elsewhere
  TrialPlace place = options_.place;
  place.trial_dir = join_path(folder, "files");
  place.port = free_port();
  AttemptPlan plan;
  plan.setting = setting_;
  plan.trial_dir = place.trial_dir;
  CommandWorkload& workload = plan.setting.workload;
  const FoundCheckpoint checkpoint = find_checkpoint(options_.checkpoint);
  if (!options_.resume_argument.empty() && checkpoint.seconds > 0) {
    workload.command =
        resuming_command(std::move(workload.command), options_.resume_argument, checkpoint.path);
  }
  plan.process.oom_score_adjust = options_.oom_score_adjust;
  OCRTUNE_TRY(fill_attempt(options_.machine, place, plan));
  plan.log_path = join_path(options_.run_directory, fmt::format("attempt-{}.log", number));
  plan.trace_path = join_path(options_.run_directory, fmt::format("attempt-{}.csv", number));
  plan.silence_seconds = options_.silence_seconds;
  plan.stall_seconds = options_.stall_seconds;
  plan.memory_limit_bytes = options_.memory_limit_bytes;
  return plan;
}

// One warning of a kind in `warning_seconds`: to the journal, the listener and the summary.
void Supervisor::warn(const std::string& kind, const std::string& words, double seconds) {
  const auto last = warned_at_.find(kind);
  if (last != warned_at_.end() && seconds - last->second < options_.warning_seconds) return;
  warned_at_[kind] = seconds;
  warnings_.push_back(format_duration(seconds) + ": " + words);
  warned_ += 1;
  journal_.write("warning", {{"what", words}});
  note("warning: " + words);
}

void Supervisor::tell_log_problem(const AttemptStatus& status) {
  if (status.log_problem.empty() || std::exchange(log_problem_told_, true)) return;
  warn("log", status.log_problem + "; the log is cut", status.seconds);
}

void Supervisor::watch(const AttemptStatus& status) {
  if (status.places != places_) {
    places_ = status.places;
    journal_.write("placed", {{"ranks", places_text(places_)}});
  }
  std::string words;
  for (const GrowthWatch::Warning& warning : growth_.look(status)) {
    warn(warning.subject, warning.words, status.seconds);
    if (words.empty()) words = warning.words;
  }
  tell_log_problem(status);
  if (!status.idle_gpus.empty()) warn("GPUs", status.idle_gpus, status.seconds);
  if (!status.stall.empty()) {
    warn("stall", status.stall, status.seconds);
    words = status.stall;
  }
  if (listeners_.on_status) listeners_.on_status(status, words);
}

// All logs that this attempt wrote: its own output and what lies where the user said.
Diagnosis Supervisor::diagnose_attempt(const AttemptEnd& end, int number, double started) {
  std::vector<std::string> files = {
      join_path(options_.run_directory, fmt::format("attempt-{}.log", number))};
  for (const std::string& path : options_.logs) {
    std::vector<std::string> found = {path};
    if (is_directory(path)) found = find_logs(path).value_or({});
    std::copy_if(found.begin(), found.end(), std::back_inserter(files),
                 [&](const std::string& file) { return modified(file) >= started - 1; });
  }
  std::vector<LogScan> scans;
  if (!end.last.log_problem.empty()) {  // the file is cut; its end is in memory
    scans.push_back(scan_text(files[0], end.output));
    files.erase(files.begin());
  }
  for (const std::string& file : files) {
    auto scan = scan_log(file);
    if (scan) scans.push_back(std::move(*scan));
  }
  if (!end.kernel_log.empty()) {
    const std::string lines = join(end.kernel_log, "\n") + "\n";
    const std::string path =
        join_path(options_.run_directory, fmt::format("kernel-{}.log", number));
    if (!write_file(path, lines)) journal_.write("problem", {{"what", "write " + path}});
    scans.push_back(scan_text(path, lines));
  }
  FailureEvidence evidence = end.evidence;
  evidence.growth = growth_.memory();
  const Status kept =
      write_file(join_path(options_.run_directory, "evidence.json"), evidence_json(evidence));
  if (!kept) journal_.write("problem", {{"what", kept.error().what}});
  return diagnose(scans, evidence);
}

std::optional<std::string> Supervisor::next_step(const AttemptEnd& end, const Diagnosis& diagnosis,
                                                 bool moved_on, std::string& why) {
  failures_ = moved_on ? 1 : failures_ + 1;
  if (failures_ >= options_.max_failures) {
    why = how_many(failures_, "failure") + " in a row without a new checkpoint";
    return std::nullopt;
  }
  const CauseRow* cause = diagnosis.failed ? diagnosis.causes[0].row : &find_cause("unknown");
  if (end.stop == AttemptStop::memory) cause = &find_cause("host_out_of_memory");
  // A program that saves something before it fails for good would be started for ever.
  incurable_ = cause->remedy == Remedy::none ? incurable_ + 1 : 0;
  if (incurable_ > 0 && (!moved_on || incurable_ >= options_.max_failures)) {
    why = fmt::format("{}: a restart cannot cure it. {}", cause->name, cause->fixes[0]);
    return std::nullopt;
  }
  // Peer-to-peer is no matter where no GPU was seen.
  const bool no_gpu = end.stop == AttemptStop::stalled && !end.evidence.gpu_size_bytes;
  if (cause->remedy == Remedy::retry || cause->remedy == Remedy::none || no_gpu)
    return "the same setting";
  std::string change = make_safer(setting_, cause->remedy);
  if (!change.empty()) {
    unchanged_ = 0;
    return change;
  }
  if (!moved_on && ++unchanged_ > 1) {
    why = fmt::format("{}, and nothing in the command is left to make safer", cause->name);
    return std::nullopt;
  }
  return "the same setting (nothing in the command to make safer)";
}

AttemptSummary Supervisor::summary(const AttemptPlan& plan, const AttemptEnd& end) const {
  AttemptSummary summary;
  summary.command = masked_arguments(plan.process.arguments);
  summary.ending = end.text();
  summary.seconds = end.last.seconds;
  summary.peak_bytes = end.peak_bytes;
  summary.progress_lines = end.last.progress_lines;
  summary.places = end.last.places;
  summary.memory = growth_.memory_trace();
  summary.warnings = warnings_;
  std::string unsure = unsure_peak_words(end.peak_bytes, end.possible_peak_bytes);
  if (!unsure.empty()) summary.warnings.push_back(std::move(unsure));
  return summary;
}

void Supervisor::pause() {
  double left = std::min(30.0, options_.pause_seconds * std::pow(2.0, failures_ - 1));
  for (; left > 0 && !interrupted(); left -= 0.2) clock_.sleep_seconds(std::min(left, 0.2));
}

Result<SuperviseEnd> Supervisor::run() {
  SuperviseEnd all;
  for (int number = 1;; ++number) {
    const auto plan = OCRTUNE_TRY(plan_attempt(number));
    const std::string line = shell_join(masked_arguments(plan.process.arguments));
    journal_.write("start", {{"attempt", std::to_string(number)}, {"command", line}});
    note(fmt::format("attempt {}: {}", number, line));
    begin_attempt();
    const double started = wall_seconds();
    const double checkpoint_before = find_checkpoint(options_.checkpoint).seconds;
    AttemptListeners listeners;
    listeners.on_status = [this](const AttemptStatus& status) { watch(status); };
    const auto end = OCRTUNE_TRY(attempt_(plan, listeners));
    if (!end.removed_shm.empty()) {
      journal_.write("removed", {{"from /dev/shm", join(end.removed_shm, ", ")}});
    }
    AttemptSummary summary = this->summary(plan, end);
    tell_log_problem(end.last);
    const bool clean = end.clean();
    if (clean || end.stop == AttemptStop::interrupted) {
      journal_.write(clean ? "done" : "interrupted", {{"ending", summary.ending}});
      all.state = clean ? SuperviseState::done : SuperviseState::interrupted;
      all.attempts.push_back(std::move(summary));
      break;
    }
    all.diagnosis = diagnose_attempt(end, number, started);
    if (all.diagnosis.failed) {
      const Cause& cause = all.diagnosis.causes[0];
      summary.cause = cause.row->name;
      summary.confidence = cause.confidence;
      if (!cause.evidence.empty()) summary.evidence = cause.evidence[0].text;
    }
    const bool moved_on = find_checkpoint(options_.checkpoint).seconds > checkpoint_before;
    const auto change = next_step(end, all.diagnosis, moved_on, all.reason);
    summary.change = change.value_or("");
    journal_.write("failure", {{"ending", summary.ending},
                               {"cause", summary.cause},
                               {"evidence", summary.evidence},
                               {"next", change ? *change : "gave up: " + all.reason}});
    note(fmt::format("attempt {} failed: {}{}", number, summary.ending,
                     summary.cause.empty() ? "" : " - " + summary.cause));
    all.attempts.push_back(summary);
    if (!change) {
      all.state = SuperviseState::gave_up;
      break;
    }
    note("next: " + *change);
    pause();
    if (interrupted()) {
      all.state = SuperviseState::interrupted;
      break;
    }
  }
  all.warnings = warned_;
  return all;
}

}  // namespace

FoundCheckpoint find_checkpoint(const std::string& name) {
  FoundCheckpoint found{name, 0};
  if (name.empty()) return found;
  if (is_directory(name)) {
    look_for_checkpoint(name, 0, found);
    return found;
  }
  for (const char* end : {"", ".pdparams", ".pdopt", ".states", ".pt", ".pth"}) {
    found.seconds = std::max(found.seconds, modified(name + end));
  }
  return found;
}

Result<SuperviseEnd> supervise(const SuperviseOptions& options, const AttemptRunner& attempt,
                               const SuperviseListeners& listeners, Clock& clock) {
  OCRTUNE_TRY(make_directories(options.run_directory));
  auto journal = OCRTUNE_TRY(Journal::open(join_path(options.run_directory, "journal.jsonl")));
  return Supervisor(options, attempt, listeners, clock, std::move(journal)).run();
}

}  // namespace ocrtune
