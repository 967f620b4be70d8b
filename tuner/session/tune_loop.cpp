// Order of one turn: is there time, could trials be started at all, do all fail alike, what does
// the search want, run, mark, commit, tell. A trial is committed before the search hears of it, so
// that a run that dies is resumed from what the search knew.
#include "tuner/session/tune_loop.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/stats.h"
#include "base/text.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {
namespace {

constexpr double kOverrun = 0.05;     // of the budget, at most
constexpr double kStartSeconds = 20;  // that most programs need to their first line of training
constexpr double kPatience = 4;       // times as long as usual trials, at least
constexpr double kMinShare = 0.6;     // of a trial's measuring, to be worth its start

// What trials cost here: start-up apart, a trial lasts as long as its steps do.
class TrialCosts {
 public:
  void add(const Trial& trial) {
    if (!(trial.seconds > 0) || !trial.ok()) return;
    // The climb and the measurement of a service are not shortened.
    const double start =
        trial.service.measured() ? trial.seconds : std::min(trial.start_seconds, trial.seconds);
    seconds_.push_back(start + kMinShare * (trial.seconds - start));
  }
  // Of a trial that the end of the budget shortens and that still says something. 0 before the
  // first: the first trial is always started.
  // 0.6 is a guess: a little over the middle, since one that does not fit is lost.
  double least() const { return quantile(seconds_, 0.6); }

 private:
  std::vector<double> seconds_;
};

// A trial that the end of the budget cut short says nothing about its setting. One that hung, or
// was given up before, did not need the seconds that the budget took from it. Of the only trial of
// a run, what it printed is all there is to tell.
void forgive_cut(Trial& trial, double cut_seconds, bool only_trial) {
  if (trial.cause == "promise") return;  // it ended by itself, before the rate was proved
  // What it printed in this time held no number: more time would not show one either.
  if (trial.cause == "no_metric" && trial.seconds > kStartSeconds) return;
  if (trial.outcome != Outcome::timed_out || trial.seconds < cut_seconds) return;
  if (trial.cause == "no_metric" && only_trial) {
    trial.reason += fmt::format(
        "; the budget ended after {} of it: a program that starts slowly needs a longer one",
        format_duration(trial.seconds));
    return;
  }
  trial.outcome = Outcome::skipped;
  trial.cause = "budget";
  trial.reason = "the budget ended during this trial";
}

// Why trying other settings is of no use: all of them failed in the same way, and not for lack of
// memory or for what they set. Empty: go on.
std::string failing_alike(const std::vector<Trial>& trials) {
  constexpr std::size_t kEnough = 3;
  if (trials.size() < kEnough) return "";
  // Three settings, not three trials of one.
  std::set<Knobs> settings;
  for (const Trial& trial : trials) {
    const bool of_the_program = trial.outcome == Outcome::crashed ||
                                trial.outcome == Outcome::timed_out ||
                                trial.outcome == Outcome::hung;
    if (!of_the_program || trial.cause != trials[0].cause || trial.outcome != trials[0].outcome ||
        trial.cause == "signal" || trial.counters.exit_code.value_or(0) < 0) {
      return "";
    }
    settings.insert(trial.knobs);
  }
  if (settings.size() < kEnough) return "";
  return fmt::format("{} settings failed in the same way: {}", settings.size(), trials[0].reason);
}

// Not one of `least` trials or more could be started: that is no fault of their settings.
Status check_starts(const std::vector<Trial>& trials, std::size_t begin, std::size_t least) {
  const std::size_t count = trials.size() - begin;
  const bool started =
      std::any_of(trials.begin() + static_cast<std::ptrdiff_t>(begin), trials.end(),
                  [](const Trial& trial) { return !could_not_start(trial); });
  if (count == 0 || count < least || started) return Status();
  return Error{ErrorKind::exhausted, "no trial could be started: " + trials.back().reason};
}

// The limits of one trial: at most so many seconds, and the guard's memory where there is one.
TrialLimits limits_of(const Proposal& proposal, TrialLimits limits, double max_seconds) {
  limits.max_seconds = std::min(limits.max_seconds, max_seconds);
  std::uint64_t& limit = limits.memory_limit_bytes;
  if (proposal.guard_bytes > 0) {
    limit = limit > 0 ? std::min(limit, proposal.guard_bytes) : proposal.guard_bytes;
  }
  return limits;
}

// The search's next trial; where it would end by its own rule, the one that its answer still needs.
std::optional<Proposal> next_trial(Search& search, const TuneLoopOptions& options,
                                   const std::vector<Trial>& trials, double seconds_left) {
  auto proposal = search.next(seconds_left);
  if (proposal || !options.open_question) return proposal;
  const auto question = options.open_question(trials);
  if (!question) return std::nullopt;
  // The loop itself says whether the budget holds another trial of a setting that has run.
  if (question->turn) {
    return Proposal{*question->turn, "race", "the leaders in turns, beside the load that is there"};
  }
  // The search saw no time for another trial.
  if (search.stop_reason() == "budget") return std::nullopt;
  return search.settle(*question, seconds_left);
}

void note_growth(Trial& trial, const TrialLimits& limits) {
  trial.growth = memory_growth(trial);
  if (!trial.growth.certain) return;
  trial.evidence.push_back(forecast_trial(trial.growth, limits.memory_limit_bytes).words);
}

// What the trial of a proposal belongs to.
void mark(Trial& trial, const Proposal& proposal, int repetition) {
  trial.knobs = proposal.knobs;
  trial.phase = proposal.phase;
  trial.why = proposal.why;
  trial.round = proposal.round;
  trial.repetition = repetition;
}

}  // namespace

bool could_not_start(const Trial& trial) {
  return trial.cause == "trial_dir" || trial.cause == "resources";
}

Result<TuneLoopEnd> tune_loop(Search& search, Runner& runner, Clock& clock,
                              const TuneLoopOptions& options, const TuneCallbacks& callbacks) {
  const double start = clock.now_seconds();
  TuneLoopEnd end;
  TuneProgress progress;
  progress.budget_seconds = options.budget_seconds;
  std::map<Knobs, int> repetitions;
  TrialCosts costs;
  const auto take = [&](Trial trial) {
    search.tell(trial);
    costs.add(trial);
    ++repetitions[trial.knobs];
    progress.best_samples_per_second =
        std::max(progress.best_samples_per_second, trial.ok() ? trial.samples_per_second : 0.0);
    end.trials.push_back(std::move(trial));
    progress.trials = static_cast<int>(end.trials.size());
  };
  const auto report = [&](const Proposal* under_way) {
    progress.seconds = clock.now_seconds() - start;
    progress.under_way = under_way;
    if (callbacks.on_progress) callbacks.on_progress(progress);
  };
  for (const Trial& trial : options.earlier) take(trial);
  const std::size_t earlier = end.trials.size();
  const int told = static_cast<int>(earlier);
  while (true) {
    const double left = options.budget_seconds - (clock.now_seconds() - start);
    const bool spent = options.max_trials > 0 && progress.trials - told >= options.max_trials;
    if (interrupted()) {
      end.interrupted = true;
      end.stop_reason = "interrupted";
      break;
    }
    // A trial that could not say anything before the end is not begun.
    if (spent || left <= 0 || costs.least() > left + kOverrun * options.budget_seconds) {
      end.stop_reason = "budget";
      break;
    }
    OCRTUNE_TRY(check_starts(end.trials, earlier, 2));  // one may have met a bad moment
    end.stop_reason = failing_alike(end.trials);
    if (!end.stop_reason.empty()) break;
    const auto proposal = next_trial(search, options, end.trials, left);
    if (!proposal) {
      end.stop_reason = search.stop_reason();
      break;
    }
    report(&*proposal);
    const double most = left + kOverrun * options.budget_seconds;
    const double cut_seconds =
        most < options.limits.max_seconds ? most : std::numeric_limits<double>::infinity();
    // A trial that does not come to an end leaves half of the budget to other settings.
    const double share = costs.least() > 0 ? std::max(kPatience * costs.least(), left / 2) : most;
    const TrialLimits limits = limits_of(*proposal, options.limits, std::min(most, share));
    Trial trial = runner.run(proposal->knobs, limits);
    note_growth(trial, limits);
    mark(trial, *proposal, repetitions[proposal->knobs]);
    // A trial that Ctrl-C broke is not evidence against its setting.
    if (interrupted() && !trial.ok()) continue;
    forgive_cut(trial, cut_seconds, end.trials.empty());
    if (callbacks.on_trial) OCRTUNE_TRY(callbacks.on_trial(trial));
    take(std::move(trial));
    report(nullptr);
  }
  if (!end.interrupted) OCRTUNE_TRY(check_starts(end.trials, earlier, 1));
  end.seconds = clock.now_seconds() - start;
  return end;
}

}  // namespace ocrtune
