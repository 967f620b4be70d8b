// One loop: plan an attempt, run it, and on a failure diagnose it, look for saved states, and
// choose what to change. Counters bound it: failures without progress, failures that no restart
// cures, failures with nothing left to change.
#include "extras/supervise/supervise.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/plural.h"
#include "base/secrets.h"
#include "base/text.h"
#include "diagnosis/log_scan.h"
#include "extras/supervise/checkpoints.h"
#include "extras/supervise/growth_watch.h"
#include "extras/supervise/log_marks.h"
#include "trial/free_port.h"
#include "trial/observe/memory_sampler.h"

namespace ocrtune {
namespace {

constexpr int kKeptAttempts = 50;  // whose logs and traces stay on the disk
constexpr double kHostLostConfidence = 0.9;
constexpr double kMaxPause = 300;  // seconds before a restart

class Supervisor {
 public:
  Supervisor(const SuperviseOptions& options, const AttemptRunner& attempt,
             const SuperviseListeners& listeners, Clock& clock, Journal journal)
      : options_(options),
        runner_(attempt),
        listeners_(listeners),
        clock_(clock),
        journal_(std::move(journal)),
        setting_(options.setting),
        states_(options.checkpoint),
        growth_(options.memory_limit_bytes, options.planned_seconds) {}

  Result<SuperviseEnd> run();

 private:
  Result<AttemptPlan> plan_attempt(int number);
  void watch(const AttemptStatus& status);
  void tell_log_problem(const AttemptStatus& status);
  void tell_held(const AttemptStatus& status);
  void warn(const std::string& kind, const std::string& words, double seconds);
  void begin_attempt();
  // What the next attempt changes; empty: the run has ended, and `all` says how.
  Result<std::optional<std::string>> attempt(int number, SuperviseEnd& all);
  std::optional<std::string> take_failure(const AttemptEnd& end, int number, AttemptSummary summary,
                                          SuperviseEnd& all);
  std::optional<std::string> take_start_error(const Error& error, int number, SuperviseEnd& all);
  void tell_what_is_left(const AttemptEnd& end, int number);
  void tell_unrecognised();
  std::vector<std::string> kept_paths() const;
  std::string own_log(int number) const {
    return join_path(options_.run_directory, fmt::format("attempt-{}.log", number));
  }
  Diagnosis diagnose_attempt(const AttemptEnd& end, int number, const LogMarks& logs);
  bool moved_on(const AttemptStatus& last, const std::string& cause);
  bool cannot_load(const AttemptStatus& last, const Diagnosis& diagnosis) const;
  // What to change for the next attempt, or empty with `why` when there shall be none.
  std::optional<std::string> next_step(const AttemptEnd& end, const Diagnosis& diagnosis,
                                       bool moved_on, std::string& why);
  std::optional<std::string> cure(const AttemptEnd& end, const CauseRow& cause, bool moved_on,
                                  std::string& why);
  void remove_old_files(int number) const;
  AttemptSummary summary(const AttemptPlan& plan, const AttemptEnd& end) const;
  void note(const std::string& line) {
    if (listeners_.on_note && !line.empty()) listeners_.on_note(line);
  }
  void pause();

  const SuperviseOptions& options_;
  const AttemptRunner& runner_;
  const SuperviseListeners& listeners_;
  Clock& clock_;
  Journal journal_;
  LaunchSetting setting_;
  SavedStates states_;
  std::vector<std::string> secrets_;  // of this attempt's command
  std::string resumed_from_;          // by this attempt; empty: it was handed no state
  GrowthWatch growth_;
  std::map<std::string, double> warned_at_;  // kind -> second of this attempt
  std::vector<std::string> warnings_;        // of this attempt
  std::map<int, std::string> places_;
  std::set<ReasonCode> held_told_;  // of all attempts
  bool log_problem_told_ = false, unrecognised_told_ = false;
  int warned_ = 0, failures_ = 0, unchanged_ = 0;
  int incurable_ = 0;                  // failures in a row that a restart cannot cure
  TrainingPosition furthest_;          // of all attempts that failed
  std::int64_t furthest_number_ = -1;  // of the states that were saved
  std::string last_cause_;             // of the attempt that failed last, like the next
  std::int64_t last_progress_lines_ = 0;
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
  for (const std::string& path : states_.passed_over()) {
    journal_.write("passed over", {{"checkpoint", path}});
    note("passed over: " + path + " is cut");
  }
  resumed_from_.clear();
  if (const Checkpoint* state = states_.newest();
      state != nullptr && !options_.resume_argument.empty()) {
    workload.command =
        resuming_command(std::move(workload.command), options_.resume_argument, state->path);
    const bool named = options_.resume_argument.find("{checkpoint}") != std::string::npos;
    if (named) resumed_from_ = state->path;
  }
  plan.process.oom_score_adjust = options_.oom_score_adjust;
  OCRTUNE_TRY(fill_attempt(options_.machine, place, plan));
  Launch launch;
  launch.arguments = plan.process.arguments;
  launch.environment = plan.setting.workload.environment;
  secrets_ = secrets_of(launch);
  plan.log_path = own_log(number);
  plan.trace_path = join_path(options_.run_directory, fmt::format("attempt-{}.csv", number));
  plan.silence_seconds = options_.silence_seconds;
  plan.stall_seconds = options_.stall_seconds;
  plan.memory_limit_bytes = options_.memory_limit_bytes;
  plan.stop_grace_seconds = options_.stop_grace_seconds;
  plan.kept_paths = kept_paths();
  return plan;
}

// What the user named; absolute, for an attempt may run in another folder.
std::vector<std::string> Supervisor::kept_paths() const {
  std::vector<std::string> paths = options_.logs;
  paths.push_back(options_.run_directory);
  if (!options_.checkpoint.empty()) paths.push_back(options_.checkpoint);
  for (std::string& path : paths) {
    std::error_code code;
    const std::filesystem::path whole = std::filesystem::absolute(path, code);
    if (!code) path = whole.string();
  }
  return paths;
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

void Supervisor::tell_held(const AttemptStatus& status) {
  for (const HeldBack& held : status.held) {
    if (!held_told_.insert(held.cause.code).second) continue;
    journal_.write("held back", {{"cause", std::string(row_of(held.cause.code).name)}});
    if (listeners_.on_held) listeners_.on_held(held);
  }
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
  tell_held(status);
  if (!status.idle_gpus.empty()) warn("GPUs", status.idle_gpus, status.seconds);
  if (!status.stall.empty()) {
    warn("stall", status.stall, status.seconds);
    words = status.stall;
  }
  if (listeners_.on_status) listeners_.on_status(status, words);
}

// All that this attempt wrote: its own output and what it added to the user's logs.
Diagnosis Supervisor::diagnose_attempt(const AttemptEnd& end, int number, const LogMarks& logs) {
  const std::string own = own_log(number);
  std::vector<LogScan> scans = logs.scan_added();
  const bool cut = !end.last.log_problem.empty();  // its end is in memory
  if (cut) std::erase_if(scans, [&](const LogScan& scan) { return scan.file == own; });
  if (cut || scans.empty() || scans[0].file != own) {
    scans.insert(scans.begin(), scan_text(own, cut ? end.output : ""));
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
  Diagnosis diagnosis = diagnose(scans, evidence);
  if (end.stop == AttemptStop::host_lost) {  // whatever its ranks say of peers that are gone
    Cause lost{&find_cause("host_unreachable"), kHostLostConfidence, Role::primary, {}, {}, {}};
    lost.evidence.push_back({"watch", 0, end.text()});
    lost.fixes = {lost.row->fixes.begin(), lost.row->fixes.end()};
    diagnosis.failed = true;
    diagnosis.causes.insert(diagnosis.causes.begin(), std::move(lost));
  }
  for (Cause& cause : diagnosis.causes) {
    for (EvidenceLine& line : cause.evidence) line.text = without_secrets(line.text, secrets_);
  }
  for (StoryEvent& event : diagnosis.story) event.text = without_secrets(event.text, secrets_);
  for (EvidenceLine& line : diagnosis.consequences) {
    line.text = without_secrets(line.text, secrets_);
  }
  return diagnosis;
}

// A state was saved that goes further than all before it. One that is written at each start, or
// just before the step that fails, is no progress, whatever its file says.
bool Supervisor::moved_on(const AttemptStatus& last, const std::string& cause) {
  const bool position = last.furthest.known();
  bool further = last.furthest.beyond(furthest_);
  furthest_.advance(last.furthest);
  const std::int64_t number = states_.newest() != nullptr ? states_.newest()->number : -1;
  further = further || (furthest_number_ >= 0 && number > furthest_number_);
  furthest_number_ = std::max(furthest_number_, number);
  // A program that tells no position: another cause, or more steps than before, is further.
  if (!position)
    further = further || cause != last_cause_ || last.progress_lines > last_progress_lines_;
  last_cause_ = cause;
  last_progress_lines_ = last.progress_lines;
  return states_.saved() && last.progress_lines > 0 && further;
}

// It was handed a state, ended without one step, and what it says is about that state.
bool Supervisor::cannot_load(const AttemptStatus& last, const Diagnosis& diagnosis) const {
  if (resumed_from_.empty() || last.progress_lines > 0 || !diagnosis.failed) return false;
  const Cause& cause = diagnosis.causes[0];
  if (cause.row == &find_cause("checkpoint_damaged")) return true;
  const std::string name = base_name(resumed_from_);
  return cause.row->remedy == Remedy::none &&
         std::any_of(cause.evidence.begin(), cause.evidence.end(), [&](const EvidenceLine& line) {
           return line.text.find(name) != std::string::npos;
         });
}

std::optional<std::string> Supervisor::next_step(const AttemptEnd& end, const Diagnosis& diagnosis,
                                                 bool moved_on, std::string& why) {
  failures_ = moved_on ? 1 : failures_ + 1;
  if (failures_ >= options_.max_failures) {
    why = how_many(failures_, "failure") + " in a row without getting further";
    return std::nullopt;
  }
  if (cannot_load(end.last, diagnosis) && states_.refuse()) {
    return "the checkpoint before it: " + states_.newest()->path;
  }
  const CauseRow* cause = diagnosis.failed ? diagnosis.causes[0].row : &find_cause("unknown");
  if (end.stop == AttemptStop::memory) cause = &find_cause("host_out_of_memory");
  return cure(end, *cause, moved_on, why);
}

std::optional<std::string> Supervisor::cure(const AttemptEnd& end, const CauseRow& cause,
                                            bool moved_on, std::string& why) {
  // A program that saves something before it fails for good would be started for ever.
  incurable_ = cause.remedy == Remedy::none ? incurable_ + 1 : 0;
  if (incurable_ > 0 && (!moved_on || incurable_ >= options_.max_failures)) {
    why = fmt::format("{}: a restart cannot cure it. {}", cause.name, cause.fixes[0]);
    return std::nullopt;
  }
  // Peer-to-peer is no matter where no GPU was seen.
  const bool no_gpu = end.stop == AttemptStop::stalled && !end.evidence.gpu_size_bytes;
  if (cause.remedy == Remedy::retry || cause.remedy == Remedy::none || no_gpu)
    return "the same setting";
  std::string change = make_safer(setting_, cause.remedy);
  if (!change.empty()) {
    unchanged_ = 0;
    return change;
  }
  if (!moved_on && ++unchanged_ > 1) {
    why = fmt::format("{}, and nothing in the command is left to make safer", cause.name);
    return std::nullopt;
  }
  return "the same setting (nothing in the command to make safer)";
}

// A run of months may restart hundreds of times.
void Supervisor::remove_old_files(int number) const {
  const int old = number - kKeptAttempts;
  for (const std::string& name :
       {fmt::format("attempt-{}.log", old), fmt::format("attempt-{}.csv", old),
        fmt::format("kernel-{}.log", old)}) {
    (void)remove_tree(join_path(options_.run_directory, name));
  }
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
  summary.held = end.last.held;
  std::string unsure = unsure_peak_words(end.peak_bytes, end.possible_peak_bytes);
  if (!unsure.empty()) summary.warnings.push_back(std::move(unsure));
  return summary;
}

void Supervisor::pause() {
  double left = std::min(kMaxPause, options_.pause_seconds * std::pow(2.0, failures_ - 1));
  // In slices, so that Ctrl-C is noticed.
  for (; left > 0 && !interrupted(); left -= 0.2) clock_.sleep_seconds(std::min(left, 0.2));
}

void Supervisor::tell_what_is_left(const AttemptEnd& end, int number) {
  if (!end.removed_shm.empty()) {
    journal_.write("removed", {{"from /dev/shm", join(end.removed_shm, ", ")}});
  }
  if (end.left_over > 0) {
    const std::string left = how_many(end.left_over, "process");
    journal_.write("left over", {{"attempt", std::to_string(number)}, {"what", left}});
    note(fmt::format("attempt {} left {} behind, told to end", number, left));
  }
  if (!end.survivors.empty()) {
    const std::string stuck = join(end.survivors, ", ");
    journal_.write("stuck", {{"attempt", std::to_string(number)}, {"what", stuck}});
    note("could not be ended: " + stuck);
  }
}

// Once: each attempt of this run starts from the beginning, and the user believes that it does not.
void Supervisor::tell_unrecognised() {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> files = states_.unrecognised();
  if (files.empty() || std::exchange(unrecognised_told_, true)) return;
  if (files.size() > kNamed) files.resize(kNamed);
  const std::string changed = join(files, ", ");
  journal_.write("unrecognised", {{"checkpoint", options_.checkpoint}, {"changed", changed}});
  note(fmt::format("no checkpoint is recognised in {}, where {} changed", options_.checkpoint,
                   changed));
}

std::optional<std::string> Supervisor::take_failure(const AttemptEnd& end, int number,
                                                    AttemptSummary summary, SuperviseEnd& all) {
  if (all.diagnosis.failed) {
    const Cause& cause = all.diagnosis.causes[0];
    summary.cause = cause.row->name;
    summary.confidence = cause.confidence;
    if (!cause.evidence.empty()) summary.evidence = cause.evidence[0].text;
  }
  states_.look();
  tell_unrecognised();
  const bool moved_on = this->moved_on(end.last, summary.cause);
  auto change = next_step(end, all.diagnosis, moved_on, all.reason);
  summary.change = change.value_or("");
  journal_.write("failure", {{"ending", summary.ending},
                             {"cause", summary.cause},
                             {"evidence", summary.evidence},
                             {"next", change ? *change : "gave up: " + all.reason}});
  note(fmt::format("attempt {} failed: {}{}", number, summary.ending,
                   summary.cause.empty() ? "" : " - " + summary.cause));
  all.attempts.push_back(std::move(summary));
  if (!change) all.state = SuperviseState::gave_up;
  return change;
}

// It could be started before: what keeps it from that may pass.
std::optional<std::string> Supervisor::take_start_error(const Error& error, int number,
                                                        SuperviseEnd& all) {
  AttemptSummary summary;
  summary.command = all.attempts.back().command;
  summary.ending = "could not start: " + error.what;
  std::optional<std::string> change = "the same setting";
  if (error.kind == ErrorKind::interrupted) {
    change.reset();
    all.state = SuperviseState::interrupted;
    journal_.write("interrupted", {{"ending", summary.ending}});
  } else {
    if (++failures_ >= options_.max_failures) {
      change.reset();
      all.state = SuperviseState::gave_up;
      all.reason = fmt::format("{} in a row without getting further; the last one {}",
                               how_many(failures_, "failure"), summary.ending);
    }
    journal_.write("failure", {{"ending", summary.ending},
                               {"next", change ? *change : "gave up: " + all.reason}});
    note(fmt::format("attempt {} failed: {}", number, summary.ending));
  }
  summary.change = change.value_or("");
  all.attempts.push_back(std::move(summary));
  return change;
}

Result<std::optional<std::string>> Supervisor::attempt(int number, SuperviseEnd& all) {
  const auto plan = OCRTUNE_TRY(plan_attempt(number));
  const std::string line = shell_join(masked_arguments(plan.process.arguments));
  journal_.write("start", {{"attempt", std::to_string(number)}, {"command", line}});
  note(fmt::format("attempt {}: {}", number, line));
  begin_attempt();
  std::vector<std::string> paths = options_.logs;
  paths.insert(paths.begin(), own_log(number));  // an earlier run in this folder may have one
  const LogMarks logs(std::move(paths));
  AttemptListeners listeners;
  listeners.on_status = [this](const AttemptStatus& status) { watch(status); };
  const auto end = OCRTUNE_TRY(runner_(plan, listeners));
  tell_what_is_left(end, number);
  AttemptSummary summary = this->summary(plan, end);
  tell_log_problem(end.last);
  const bool clean = end.clean();
  if (clean || end.stop == AttemptStop::interrupted) {
    journal_.write(clean ? "done" : "interrupted", {{"ending", summary.ending}});
    all.state = clean ? SuperviseState::done : SuperviseState::interrupted;
    all.attempts.push_back(std::move(summary));
    return std::optional<std::string>();
  }
  all.diagnosis = diagnose_attempt(end, number, logs);
  return take_failure(end, number, std::move(summary), all);
}

Result<SuperviseEnd> Supervisor::run() {
  SuperviseEnd all;
  note(untold_checkpoint(options_.checkpoint, options_.resume_argument));
  for (int number = 1;; ++number) {
    const auto tried = attempt(number, all);
    // Nothing ran yet: the command line is wrong, and another try would be, too.
    if (!tried && number == 1) {
      journal_.write("failure", {{"ending", "could not start: " + tried.error().what}});
      return tried.error();
    }
    const auto change = tried ? *tried : take_start_error(tried.error(), number, all);
    if (number > kKeptAttempts) {
      remove_old_files(number);
      all.attempts[static_cast<std::size_t>(number - kKeptAttempts - 1)].memory.clear();
    }
    if (!change) break;
    note("next: " + *change);
    pause();
    if (interrupted()) {
      journal_.write("interrupted", {{"ending", "before another attempt"}});
      all.state = SuperviseState::interrupted;
      break;
    }
  }
  all.warnings = warned_;
  return all;
}

}  // namespace

Result<SuperviseEnd> supervise(const SuperviseOptions& options, const AttemptRunner& attempt,
                               const SuperviseListeners& listeners, Clock& clock) {
  OCRTUNE_TRY(make_directories(options.run_directory));
  auto journal = OCRTUNE_TRY(Journal::open(join_path(options.run_directory, "journal.jsonl")));
  return Supervisor(options, attempt, listeners, clock, std::move(journal)).run();
}

}  // namespace ocrtune
