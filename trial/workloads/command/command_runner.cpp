// One trial from folder to verdict: fresh folder and port, setup, the command under TrialWatch,
// cleanup, diagnosis of its logs, secrets out. The command is filled a second time for the line
// that reproduces it, without the variables that nothing of it reads.
#include "trial/workloads/command/command_runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "trial/answers/command_same.h"
#include "trial/free_port.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_reader.h"
#include "trial/logs/log_text.h"
#include "trial/logs/lost_loss.h"
#include "trial/malloc_environment.h"
#include "trial/observe/rank_binding.h"
#include "trial/observe/shm_leftovers.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/watch/trial_watch.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/kept_folder.h"
#include "trial/workloads/command/preset_apply.h"
#include "trial/workloads/launch.h"

namespace ocrtune {
namespace {

// Half of the scale (proc(5), oom_score_adj): the kernel takes a trial before the user's other
// programs.
constexpr int kOomScoreAdjust = 500;
constexpr int kMaxAsked = 2;         // trials of the present setting for its texts alone
constexpr double kFreshSeconds = 2;  // before a trial's end: a file may still be written
constexpr double kSureCause = 0.5;   // confidence from which a diagnosis names the outcome

// Paddle's launcher writes its whole environment to envlog.0 and default.NAME.log.
bool is_log(const std::string& name) {
  return name.find("log") != std::string::npos && !starts_with(name, "envlog") &&
         !starts_with(name, "default.");
}

// The ends of log files below `folder`, for what the command itself did not print.
std::string file_tails(const std::string& folder, int depth = 0) {
  std::string tails;
  const auto names = list_directory(folder);
  if (!names || depth > 2) return tails;
  for (const std::string& name : *names) {
    const std::string path = join_path(folder, name);
    if (is_directory(path)) {
      tails += file_tails(path, depth + 1);
    } else if (is_log(name) && tails.size() < (32U << 10)) {
      const auto text = read_file(path, 16 << 20);
      if (!text || text->empty()) continue;
      // Only the last lines: a log of hours would fill the record.
      OutputRing end(4096);
      end.append(*text);
      tails += "--- " + path + "\n" + end.tail(20) + "\n";
    }
  }
  return tails;
}

// Hands each line to somebody else as well, before the reader of the speed gets it.
class HeardReader : public LogReader {
 public:
  using Hear = std::function<void(const std::string& line)>;
  HeardReader(LogReader& reader, Hear hear) : reader_(reader), hear_(std::move(hear)) {}

  void read_line(const std::string& line, double now_seconds, std::vector<Event>& events) override {
    hear_(line);
    reader_.read_line(line, now_seconds, events);
  }
  void read_event(const Event& event, double now_seconds, std::vector<Event>& events) override {
    reader_.read_event(event, now_seconds, events);
  }
  std::string name() const override { return reader_.name(); }
  std::int64_t known_lines() const override { return reader_.known_lines(); }
  std::string why_unread(const std::string& file) const override {
    return reader_.why_unread(file);
  }
  bool is_hopeless() const override { return reader_.is_hopeless(); }
  double counted_share() const override { return reader_.counted_share(); }
  double counts_to() const override { return reader_.counts_to(); }

 private:
  LogReader& reader_;
  Hear hear_;
};

class CommandRunner : public Runner {
 public:
  CommandRunner(PreparedCommand command, const Machine& machine, const SilenceRule& silence,
                HostPart part, MakeListener listener)
      : command_(std::move(command)),
        machine_(machine),
        silence_(silence),
        part_(std::move(part)),
        listener_(std::move(listener)) {
    const CommandWorkload& workload = command_.workload;
    auto places = AnswerPlaces::parse(workload.answers);
    if (!places || places->empty() || !workload.present) return;  // fill_for() says what is wrong
    // Of ranks that print at once nobody knows whose line names an input.
    const bool pinned = std::ranges::find(workload.fixed, "nproc") != workload.fixed.end();
    const bool one = pinned && workload.present->nproc == 1;
    const bool ranks = turns(workload, "nproc") && !starts_copies(workload);
    if (ranks && !one) places->part_lines();
    same_.emplace(std::move(*places), workload.truth, workload.max_change);
  }

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    const auto& present = command_.workload.present;
    // Texts of another setting say nothing before it is known what the present one varies by
    // itself.
    while (same_ && knobs != *present && same_->needs_present() && asked_ < kMaxAsked) {
      ++asked_;
      (void)try_once(*present, limits);
    }
    Trial trial = try_once(knobs, limits);
    trial.knobs = knobs;
    if (trial.reproduce.empty()) {  // it was not started
      trial.reproduce = join(dry_run_lines(command_, machine_, knobs), " && ");
    }
    return trial;
  }

 private:
  static Trial failed(Outcome outcome, std::string cause, std::string reason) {
    Trial trial;
    trial.outcome = outcome;
    trial.cause = std::move(cause);
    trial.reason = std::move(reason);
    return trial;
  }

  Trial try_once(const Knobs& knobs, const TrialLimits& limits) {
    if (command_.refuse) {
      const auto refusal = command_.refuse(knobs);
      if (refusal) return failed(refusal->outcome, refusal->cause, refusal->reason);
    }
    auto folder = make_folder();
    if (!folder) return failed(Outcome::crashed, "trial_dir", folder.error().what);
    TrialPlace place = part_.place;
    place.trial_dir = *folder;
    place.port = free_port();
    const auto filled = fill_for(command_.workload, machine_, knobs, place);
    if (!filled) return failed(Outcome::unsupported, "setting", filled.error().what);
    Trial trial;
    const auto broken = run_lines(filled->setup, *filled, "setup");
    // Ctrl-C ended the setup, which is no failure of the setting.
    if (broken && to_end()) {
      trial = failed(Outcome::skipped, "interrupted", "interrupted");
    } else if (broken) {
      trial = failed(Outcome::crashed, "setup", *broken);
    } else {
      const auto reader =
          listener_ ? Result<std::unique_ptr<LogReader>>(listener_())
                    : make_log_reader(command_.workload.log_reader, log_context(command_, knobs));
      trial = !reader ? failed(Outcome::unsupported, "setting", reader.error().what)
              : same_ ? compared(*filled, knobs, limits, **reader)
                      : measure(*filled, knobs, limits, **reader);
    }
    // Cleanup runs whatever happened, and its failure does not change the outcome.
    const auto untidy = run_lines(filled->cleanup, *filled, "cleanup");
    if (untidy) trial.evidence.push_back(*untidy);
    finish(trial, *folder);
    if (trial.outcome == Outcome::crashed) {
      const std::string words = preset_words(command_, trial.log_tail);
      if (!words.empty()) trial.reason += "; " + words;
    }
    // Before anything of the trial leaves this function.
    hide_secrets(filled->launch, trial);
    CommandWorkload read = command_.workload;
    read.unread =
        unread_thread_variables({trial.threads.runtimes.begin(), trial.threads.runtimes.end()});
    const auto again = fill_for(read, machine_, knobs, place);
    std::vector<std::string> lines = shell_lines(again ? *again : *filled);
    if (names_used(command_.workload).count("trial_dir") != 0) {
      lines.insert(lines.begin(), shell_join({"mkdir", "-p", *folder}));
    }
    trial.reproduce = join(lines, " && ");
    return trial;
  }

  Result<std::string> make_folder() {
    const CommandWorkload& workload = command_.workload;
    if (workload.scratch.empty()) return make_temporary_directory("trial");
    std::string folder =
        join_path(workload.scratch, fmt::format("trial-{}-{}", ::getpid(), ++count_));
    OCRTUNE_TRY(make_directories(folder));
    return folder;
  }

  static ProcessOptions options_of(const std::vector<std::string>& arguments,
                                   const FilledCommand& filled) {
    Launch launch = filled.launch;
    // Setup and cleanup have the command's folder and variables.
    launch.arguments = arguments;
    ProcessOptions options = process_options(launch);
    options.oom_score_adjust = kOomScoreAdjust;
    return options;
  }

  // A setup ends where the trial is to end, a cleanup only by a second Ctrl-C.
  std::optional<ProcessExit> wait_for(Process& process, bool ends) const {
    constexpr double kSlice = 0.2;
    const double end = steady_clock().now_seconds() + kSetupSeconds;
    while (steady_clock().now_seconds() < end && !(ends && to_end())) {
      if (const auto& exit = process.wait(kSlice)) return exit;
    }
    return std::nullopt;
  }

  bool to_end() const { return interrupted() || (part_.trial.ended && part_.trial.ended()); }

  // Why one of the lines failed; empty: all went well.
  std::optional<std::string> run_lines(const std::vector<std::vector<std::string>>& lines,
                                       const FilledCommand& filled, std::string_view what) const {
    for (const auto& line : lines) {
      ProcessTree tree;
      auto process = tree.start(options_of(line, filled));
      if (!process) return fmt::format("{}: {}", what, process.error().what);
      const auto exit = wait_for(**process, what == "setup");
      if (exit && exit->clean()) continue;
      return fmt::format("{} '{}': {}: {}", what, shell_join(line),
                         exit ? exit->text() : "still running after 10 min",
                         (*process)->output().tail(3));
    }
    return std::nullopt;
  }

  // Measures, and judges what it printed and wrote.
  Trial compared(const FilledCommand& filled, const Knobs& knobs, const TrialLimits& limits,
                 LogReader& reader) {
    AnswerCollector answers(same_->places());
    double run_ended = 0;  // the last one, since 1970; 0: none did
    HeardReader hears(reader, [&](const std::string& line) {
      if (line.find(kRunEnded) == std::string::npos) return answers.read_line(line);
      answers.end_run();
      run_ended = wall_seconds();
    });
    const double begin = wall_seconds();
    Trial trial = measure(filled, knobs, limits, hears);
    // A file that was changed last thing may not be whole.
    answers.read_files(filled.answer_files, begin,
                       std::max(run_ended, wall_seconds() - kFreshSeconds));
    trial.knobs = knobs;
    const Status judged = same_->judge(trial, answers.take(), knobs == *command_.workload.present);
    if (!judged) return failed(Outcome::unsupported, "answers", judged.error().what);
    return trial;
  }

  Trial measure(const FilledCommand& filled, const Knobs& knobs, const TrialLimits& limits,
                LogReader& reader) {
    LostLoss loss;
    HeardReader hears(reader, [&](const std::string& line) { loss.read_line(line); });
    RankBinder binder(filled.masks);
    ShmLeftovers shm;
    TrialPlan plan;
    plan.processes.push_back(options_of(filled.launch.arguments, filled));
    plan.reader = &hears;
    plan.listens = listener_ != nullptr;
    plan.followed_file = filled.log_file;
    plan.binder = &binder;
    plan.ranks = turns(command_.workload, "nproc") ? knobs.nproc : 0;
    plan.shm = &shm;
    plan.preload = preload_of(knobs.malloc);
    plan.demand.threads = static_cast<double>(knobs.nproc) * (knobs.threads + knobs.workers);
    plan.demand.cpus = machine_.cpu.usable_cpus.value_or(std::max(1, machine_.cpu.allowed.count()));
    plan.watch_gpus = !machine_.gpus.empty();
    if (command_.workload.learning.watches) plan.learning_batch = global_batch(knobs);
    plan.silence = silence_;
    plan.part = part_.trial;
    plan.stop_grace_seconds = command_.workload.stop_grace_seconds;
    Trial trial = watch_trial(plan, limits);
    trial.counted_share = reader.counted_share();
    trial.counts_to = reader.counts_to();
    if (trial.ok() && loss.lost()) trial.lost_loss = loss.line();
    loss_gate_.judge(trial, command_.workload.is_present(knobs));
    return trial;
  }

  // What `repeat_the_command` says is no word of the user's command.
  static std::string without_run_ends(const std::string& tail) {
    std::vector<std::string> lines = split(tail, '\n');
    std::erase(lines, kRunEnded);
    return join(lines, "\n");
  }

  // A program says on its last line why it gave up.
  static void quote_last_words(Trial& trial) {
    constexpr std::size_t kQuotedBytes = 160;
    if (trial.cause != "exit") return;
    std::string last;
    for (const std::string& line : split(trial.log_tail, '\n')) {
      if (!trim(line).empty()) last = plain_line(line).substr(0, kQuotedBytes);
    }
    if (!last.empty()) trial.reason += ": " + valid_utf8(last);
  }

  // Lets the logs of a failed trial speak, and keeps its folder if there is something in it.
  static void finish(Trial& trial, const std::string& folder) {
    trial.log_tail = without_binary(without_run_ends(trial.log_tail));
    const bool unused = list_directory(folder).value_or({}).empty();
    if (trial.ok() || trial.cause == "interrupted" || unused) {
      [[maybe_unused]] const Status removed = remove_tree(folder);
    } else {
      trial.log_tail += file_tails(folder);
      trial.kept_folder = keep_folder(folder);
      trial.evidence.push_back("its files: " + trial.kept_folder);
    }
    if (trial.outcome != Outcome::crashed || trial.cause == "interrupted") return;
    // A crash may be out of memory or another outcome by what its logs say.
    const Diagnosis diagnosis = diagnose_text(trial.log_tail, trial.counters);
    const bool sure = diagnosis.failed && !diagnosis.causes.empty() &&
                      diagnosis.causes[0].confidence >= kSureCause &&
                      diagnosis.causes[0].role != Role::generic;
    if (!sure) return quote_last_words(trial);
    const Cause& cause = diagnosis.causes[0];
    const auto outcome = parse_outcome(cause.row->outcome);
    if (outcome && *outcome != Outcome::ok) trial.outcome = *outcome;
    trial.cause = cause.row->name;
    if (!cause.evidence.empty() && cause.evidence[0].file != kProcessEnd) {  // that is said already
      trial.reason += ": " + cause.evidence[0].text;
      trial.evidence.push_back("log: " + cause.evidence[0].text);
    }
  }

  PreparedCommand command_;
  Machine machine_;
  SilenceRule silence_;
  HostPart part_;
  MakeListener listener_;  // may be empty
  int count_ = 0;
  std::optional<CommandSame> same_;  // unset: its texts are not compared
  LossGate loss_gate_;
  int asked_ = 0;  // trials of the present setting for its texts alone
};

}  // namespace

LogContext log_context(const PreparedCommand& command, const Knobs& knobs) {
  LogContext context;
  context.nproc = nodes_of(knobs) * knobs.nproc;
  context.batch =
      knobs.absent.contains("batch") ? 1 : knobs.batch;  // else a step is all that is known
  context.per_rank = command.workload.per_rank;
  context.print_interval = command.print_interval;
  context.from_start = command.workload.learning.watches;
  return context;
}

std::unique_ptr<Runner> make_command_runner(const PreparedCommand& command, const Machine& machine,
                                            const SilenceRule& silence, HostPart part,
                                            MakeListener listener) {
  return std::make_unique<CommandRunner>(command, machine, silence, std::move(part),
                                         std::move(listener));
}

}  // namespace ocrtune
