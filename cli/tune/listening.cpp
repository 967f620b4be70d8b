// The command is started once, with the user's setting, while the reader finder listens. If it
// stays open whose batch a step of launched ranks has, it is started once more with one process; if
// a counter may be of steps or of samples, with another batch.
// What was taken is told with the flags that would name it. The rules on whose rate it is come
// last, from what was told to what is assumed.
#include "cli/tune/listening.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "probes/placement/partition.h"
#include "reports/console/label_lines.h"
#include "trial/logs/line_numbers.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/run_launch.h"
#include "tuner/session/tune_loop.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {
namespace {

// Guesses: a slow framework needs its time to a first step, a small budget asks for a short wait.
constexpr double kBudgetShare = 0.5, kLeastSeconds = 20, kMostSeconds = 180;

constexpr const char* kAsk =
    "say how the command tells its speed: --log-reader NAME (ocrtune list log-readers), "
    "--metric NAME[:UNIT] or --preset paddleocr";

constexpr const char* kOwnBatches =
    "; each rank is taken to have a batch of its own: --metric-of job where they share one";
constexpr const char* kSharedBatch =
    "; its ranks share their batch: {global_batch} in place of {batch} keeps the recipe";

constexpr const char* kOwnRates =
    "; nothing in its lines shows whose rate it is: --metric-of job where it is that of all ranks";

constexpr const char* kRateOfAll =
    "; nothing in its lines shows whose rate it is: --metric-of rank where it is that of one "
    "process";

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
  program.per_rank = choice.per_rank;
}

struct Heard {
  std::shared_ptr<ReaderFinder> finder;
  Trial trial;
};

// Starts of the command, with a finder that listens to each.
struct Starts {
  const PreparedCommand& prepared;
  const Machine& machine;
  TrialLimits limits;
  bool silent = false;

  Heard hear(const Knobs& knobs) const {
    const WorkLine line(said("listening to the first lines of the command", terminal_language()),
                        silent);
    const auto finder = std::make_shared<ReaderFinder>(log_context(prepared, knobs));
    const auto runner = make_command_runner(prepared, machine, SilenceRule(), {},
                                            [finder] { return make_listener(finder); });
    return {finder, runner->run(knobs, limits)};
  }
  // The command is told the value of the knob.
  bool tells(const char* name) const { return names_used(prepared.workload).contains(name); }
};

// Ranks that share a batch take as many steps to an epoch as one process with that batch does: with
// one that is given the batch of all of them, an epoch is so many times shorter. Where each rank
// has its own batch it stays as long, and so does a run of a given number of steps.
bool epoch_shrinks(const std::vector<double>& of_ranks, const std::vector<double>& alone,
                   int ranks) {
  // A guess: totals of fewer steps agree by chance.
  constexpr double kLeastSteps = 4;
  if (of_ranks.size() != alone.size()) return false;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const double off = std::abs(of_ranks[i] - ranks * alone[i]);
    // So much tolerance because each rank may round its part to a whole step.
    if (alone[i] >= kLeastSteps && off <= ranks) return true;
  }
  return false;
}

// Whose batch a step of launched ranks has, by a second start; unset: nothing shows it.
std::optional<bool> whose_batch(const ReaderChoice& choice, const Starts& starts,
                                const Knobs& knobs) {
  const std::vector<double> totals = totals_in(choice.line);
  if (!starts.tells("batch") || knobs.nproc < 2 || totals.empty()) return std::nullopt;
  Knobs alone = knobs;
  alone.nproc = 1;
  alone.batch *= knobs.nproc;
  const auto finder = starts.hear(alone).finder;
  const auto heard = interrupted() ? std::nullopt : finder->choice_at_end();
  if (!heard) return std::nullopt;
  return epoch_shrinks(totals, totals_in(heard->line), knobs.nproc) ? std::optional(false)
                                                                    : std::nullopt;
}

// What a counter counts that grew by a multiple of the batch, by a second start with another one.
std::optional<ReaderChoice> by_another_batch(const FoundCounter& open, const SearchRequest& search,
                                             const Starts& starts, const Knobs& knobs) {
  Knobs other = knobs;
  other.batch *= 2;
  const auto listed = search.axes.find("batch");
  if (listed != search.axes.end()) {
    for (const std::string& value : listed->second) {
      Knobs one = knobs;
      if (set_knob(one, "batch", value) && one.batch != knobs.batch) other = one;
    }
  }
  const auto finder = starts.hear(other).finder;
  return interrupted() ? std::nullopt : finder->settled(open, knobs.batch);
}

// Of a step that takes several batches, where the command is not told how many.
std::string words_of_accumulation(const ReaderChoice& choice, const ReaderFinder& finder,
                                  const Starts& starts) {
  using Reads = ReaderChoice::Reads;
  const bool steps = choice.reads == Reads::steps || choice.reads == Reads::steps_per_second ||
                     choice.reads == Reads::seconds_per_step;
  const int batches = finder.accumulated();
  if (!steps || batches < 2 || starts.tells("accumulate")) return "";
  return fmt::format(
      "; its lines say that a step is of {0} batches, and one is counted: rates are {0} times "
      "those that are told, gains are right",
      batches);
}

// What the first start leaves open of a counter.
std::optional<ReaderChoice> settled_choice(const ReaderFinder& finder, const SearchRequest& search,
                                           const Starts& starts, const Knobs& knobs) {
  if (interrupted()) return std::nullopt;
  if (auto choice = finder.choice_at_end()) return choice;
  const auto open = finder.open_counter();
  if (!open || !starts.tells("batch")) return std::nullopt;
  return by_another_batch(*open, search, starts, knobs);
}

// Runs of a training are as many steps each, and cannot be compared where the batch varies.
bool takes_more_by_batch(const Starts& starts, const ReaderFinder& finder) {
  return starts.tells("batch") && finder.unread().tell_of_training();
}

Error runs_of_unlike_size(double seconds) {
  return {ErrorKind::usage,
          fmt::format("the command ended after {}, and as many steps take more samples by a larger "
                      "batch: let it train for a minute or longer, or --log-reader runs where a "
                      "run reads the same by any batch",
                      format_duration(seconds))};
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
  if (trial.outcome == Outcome::timed_out) why += "; it was stopped then: " + runs;
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
                                    bool no_wait, bool silent, std::optional<Trial>& unread) {
  if (!job.prints()) return std::string();
  const PreparedCommand ready = OCRTUNE_TRY(prepared_command(user_command(job, search), machine));
  const bool over_hosts = !job.command_job().hosts.empty();
  if (!ready.workload.log_reader.empty()) return std::string();
  // Over hosts nothing is listened to: the reader has to be named.
  if (over_hosts) return Error{ErrorKind::usage, kAsk};
  PreparedCommand prepared = ready;
  prepared.workload.answers.clear();  // no text is compared yet
  const Knobs knobs = setting_to_hear(search, prepared, machine);
  const MachineLock turn = OCRTUNE_TRY(take_turn(no_wait));
  TrialLimits limits = trial_limits(job, search);
  limits.max_seconds =
      std::clamp(kBudgetShare * search.budget_seconds, kLeastSeconds, kMostSeconds);
  const Starts starts{prepared, machine, limits, silent};
  const auto [finder, trial] = starts.hear(knobs);
  auto choice = settled_choice(*finder, search, starts, knobs);
  // The command ended by itself before enough lines came: whole runs of it can be timed.
  const bool ended =
      trial.outcome == Outcome::crashed && trial.cause == "no_metric" && !finder->is_settled();
  const bool repeats = prepared.workload.log_file.empty() && !starts_copies(prepared.workload);
  if (!choice && ended && takes_more_by_batch(starts, *finder)) {
    return runs_of_unlike_size(trial.seconds);
  }
  if (!choice && ended) {
    choice = repeats ? ReaderChoice{"runs", ReaderChoice::Reads::runs, {}, ""}
                     : finder->choice_of_files();
  }
  if (!choice) {
    unread = trial;
    return nothing_heard(*finder, trial, job.program().log_file);
  }
  // A rate or a step counts for each process where a launcher has made ranks of them; a program
  // that starts its processes itself prints what they make together, and takes the batch of all,
  // unless the lines say otherwise.
  using Reads = ReaderChoice::Reads;
  const bool says_it_itself =
      choice->reads == Reads::own || choice->reads == Reads::calls || choice->reads == Reads::runs;
  const bool several = starts.tells("nproc");
  const bool of_samples = choice->reads == Reads::samples_per_second;
  std::string aside;
  // --metric-of wins over every rule here.
  const auto told = job.user()->command.per_rank;
  if (counts_for_all(choice->log_reader)) choice->per_rank = false;
  if (told) choice->per_rank = told;
  // Where lines name the processes of a program's own that print them, each speaks of itself.
  const bool own = trial.launched_ranks == 0 && !says_it_itself && !choice->per_rank;
  const int heard = own ? finder->processes_heard(*choice) : 0;
  if (heard > 1 || (heard == 1 && !several)) choice->per_rank = true;
  if (!choice->per_rank && !says_it_itself && !starts_copies(ready.workload)) {
    const bool would_show = finder->choice() && several;  // else ranks may be gone
    if (trial.launched_ranks == 0 && (would_show || of_samples)) choice->per_rank = false;
    if (several && of_samples) {
      aside = trial.launched_ranks > 0 ? kOwnRates : kRateOfAll;
      job.user()->command.scope_assumed = true;
    }
    if (trial.launched_ranks > 0 && several && !of_samples) {
      const auto shown = whose_batch(*choice, starts, knobs);
      choice->per_rank = shown.value_or(true);
      if (shown) aside = kSharedBatch;
      if (!shown && starts.tells("batch")) aside = kOwnBatches;
    }
  }
  aside += words_of_accumulation(*choice, *finder, starts);
  take(*choice, job.user()->command);
  prepared = ready;
  if (choice->per_rank) prepared.workload.per_rank = choice->per_rank;
  OCRTUNE_TRY(read_by(choice->log_reader, choice->per_rank, prepared));
  keep_prepared(job, search, std::move(prepared));
  return fmt::format("{} ({}){}", choice_words(*choice, several), choice_options(*choice), aside);
}

}  // namespace ocrtune
