// One tune: asks a search, runs what it proposes, commits, tells, until the budget or the search
// ends.
//
// Nothing is started that cannot be expected to finish inside the budget, so a tune ends within 5 %
// of it. Ctrl-C between or during trials ends the loop with everything that was committed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trial/runner.h"
#include "tuner/search/search.h"

namespace ocrtune {

struct TuneProgress {
  int trials = 0;      // finished, earlier ones included
  double seconds = 0;  // of this call
  double budget_seconds = 0;
  double best_samples_per_second = 0;   // highest single trial so far
  const Proposal* under_way = nullptr;  // null: between trials
};

struct TuneLoopOptions {
  double budget_seconds = 300;
  int max_trials = 0;  // 0: only the seconds count
  TrialLimits limits;
  std::vector<Trial> earlier;  // of the run that is resumed: told first, not run again
  // What the trials so far leave open. The search's own rule ends the loop only where that is
  // nothing, or no trial that may run tells more of it. Empty: that rule alone decides.
  std::function<std::optional<OpenQuestion>(const std::vector<Trial>&)> open_question;
};

struct TuneCallbacks {
  // Must have made the trial durable when it returns; may set its id. An error ends the loop.
  std::function<Status(Trial&)> on_trial;
  std::function<void(const TuneProgress&)> on_progress;
};

struct TuneLoopEnd {
  std::vector<Trial> trials;  // earlier ones included
  std::string stop_reason;    // "budget", "interrupted", or the search's own
  bool interrupted = false;
  double seconds = 0;
};

// The system had no folder, process or descriptor to spare for it: its setting was not tried.
bool could_not_start(const Trial& trial);

// Errors: what on_trial gave; exhausted: no trial of this call could be started. A failed trial is
// no error.
Result<TuneLoopEnd> tune_loop(Search& search, Runner& runner, Clock& clock,
                              const TuneLoopOptions& options, const TuneCallbacks& callbacks);

}  // namespace ocrtune
