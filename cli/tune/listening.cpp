#include "cli/tune/listening.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "probes/placement/partition.h"
#include "reports/console/label_lines.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/run_launch.h"
#include "tuner/session/tune_loop.h"
#include "tuner/session/tune_setup.h"
#include "tuner/verdict/held_back.h"

namespace ocrtune {
namespace {

constexpr double kBudgetShare = 0.5, kLeastSeconds = 20, kMostSeconds = 180;

constexpr const char* kAsk =
    "say how the command tells its speed: --log-reader NAME (ocrtune list log-readers), "
    "--metric NAME[:UNIT] or --preset paddleocr";

// The user's setting. With two processes where the command starts as many as it is told: then the
// lines show whose speed they tell.
Knobs setting_to_hear(const SearchRequest& search, const PreparedCommand& prepared,
                      const Machine& machine) {
  Knobs knobs = search.baseline;
  const CommandWorkload& workload = prepared.workload;
  const bool several = names_used(workload).contains("nproc") && !starts_copies(workload) &&
                       knobs.nproc == 1 && usable_cpu_count(machine.cpu) > 1;
  const auto listed = search.axes.find("nproc");
  const bool allowed =
      listed == search.axes.end() ||
      std::find(listed->second.begin(), listed->second.end(), "2") != listed->second.end();
  if (several && allowed && prepared.gpus == 0) knobs.nproc = 2;
  return knobs;
}

void take(const ReaderChoice& choice, CommandWorkload& program) {
  const std::string metric = "metric:";
  if (starts_with(choice.log_reader, metric)) {
    program.metric = choice.log_reader.substr(metric.size());
  } else {
    program.log_reader = choice.log_reader;
  }
  if (!program.per_rank) program.per_rank = choice.per_rank;
}

}  // namespace

Error nothing_heard(const ReaderFinder& finder, const Trial& trial, const std::string& log_file) {
  if (interrupted()) return {ErrorKind::interrupted, "interrupted"};
  if (could_not_start(trial)) {
    return {ErrorKind::exhausted, "the command could not be started: " + trial.reason};
  }
  if (trial.cause == "server") {
    return {ErrorKind::usage,
            fmt::format("after {}: {}", format_duration(trial.seconds), trial.reason)};
  }
  const std::string runs =
      "if it ends by itself later, --log-reader runs times whole runs, within a --budget of many "
      "of them";
  const bool mute = trial.cause == "no_metric" || trial.outcome == Outcome::timed_out;
  if (!mute) {
    std::string what = "the command did not come to a first step: " + trial.reason;
    if (trial.outcome == Outcome::hung) what += "; " + runs;
    return {ErrorKind::failed, std::move(what)};
  }
  std::string option;
  if (const auto offer = finder.offer()) {
    option = fmt::format("I see '{}': {}", offer->line, choice_options(*offer));
  }
  std::string why = finder.unread().reason("", log_file, std::move(option));
  if (trial.outcome == Outcome::timed_out) {
    why += "; it was stopped then: " + runs;
  }
  return {ErrorKind::usage, fmt::format("after {}: {}", format_duration(trial.seconds), why)};
}

std::optional<StateFiles> user_states(const Job& job, const SearchRequest& search) {
  if (!job.prints() || !job.command_job().hosts.empty()) return std::nullopt;
  const std::string folder = command_workload(job, search).directory;
  return StateFiles(folder.empty() ? "." : folder);
}

std::string overwritten_note(std::optional<StateFiles>& states) {
  if (!states) return "";
  const std::vector<std::string> paths = states->replaced();
  if (paths.empty()) return "";
  std::string which = paths[0];
  if (paths.size() > 1) which += fmt::format(" and {} more", paths.size() - 1);
  return fmt::format(
      "trials run your command as it is: {} was there before and is written over now; let it save "
      "in {{trial_dir}}, a folder of each trial's own",
      which);
}

Result<std::string> find_log_reader(Job& job, const SearchRequest& search, const Machine& machine,
                                    bool no_wait, bool silent, std::vector<HeldBack>& held) {
  if (!job.prints()) return std::string();
  const PreparedCommand ready = OCRTUNE_TRY(prepared_command(user_command(job, search), machine));
  const bool over_hosts = !job.command_job().hosts.empty();
  if (!ready.workload.log_reader.empty()) return std::string();
  if (over_hosts) return Error{ErrorKind::usage, kAsk};
  PreparedCommand prepared = ready;
  prepared.workload.answers.clear();  // no text is compared yet
  const Knobs knobs = setting_to_hear(search, prepared, machine);
  const auto finder = std::make_shared<ReaderFinder>(log_context(prepared, knobs));
  const MachineLock turn = OCRTUNE_TRY(take_turn(no_wait));
  TrialLimits limits = trial_limits(job, search);
  limits.max_seconds =
      std::clamp(kBudgetShare * search.budget_seconds, kLeastSeconds, kMostSeconds);
  const Trial trial = [&] {
    const WorkLine line(said("listening to the first lines of the command", terminal_language()),
                        silent);
    return make_command_runner(prepared, machine, SilenceRule(), {},
                               [finder] { return make_listener(finder); })
        ->run(knobs, limits);
  }();
  auto choice = interrupted() ? std::nullopt : finder->choice_at_end();
  const bool ended =
      trial.outcome == Outcome::crashed && trial.cause == "no_metric" && !finder->is_settled();
  const bool repeats = prepared.workload.log_file.empty() && !starts_copies(prepared.workload);
  if (!choice && ended && repeats) {
    choice = ReaderChoice{"runs", ReaderChoice::Reads::runs, {}, ""};
  }
  if (!choice) {
    held = held_back(trial, usable_cpu_count(machine.cpu), search.out_of_reach());
    return nothing_heard(*finder, trial, job.program().log_file);
  }
  // A rate or a step counts for each process where a launcher has made ranks of them; a program
  // that starts its processes itself prints what they make together, and takes the batch of all,
  // unless the lines say otherwise.
  using Reads = ReaderChoice::Reads;
  const bool says_it_itself =
      choice->reads == Reads::own || choice->reads == Reads::calls || choice->reads == Reads::runs;
  const bool several = names_used(ready.workload).contains("nproc");
  const bool of_samples = choice->reads == Reads::samples_per_second;
  if (!choice->per_rank && !says_it_itself && !starts_copies(ready.workload)) {
    const bool would_show = finder->choice() && several;  // else ranks may be gone
    if (trial.launched_ranks == 0 && (would_show || of_samples)) choice->per_rank = false;
    if (trial.launched_ranks > 0 && several && !of_samples) choice->per_rank = true;
  }
  take(*choice, job.user()->command);
  prepared = ready;
  OCRTUNE_TRY(read_by(choice->log_reader, choice->per_rank, prepared));
  keep_prepared(job, search, std::move(prepared));
  return fmt::format("{} ({})", choice_words(*choice, several), choice_options(*choice));
}

}  // namespace ocrtune
