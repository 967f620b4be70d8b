// The seam of every search strategy: ask for the next setting, tell what became of it.
//
// Pure: no clock, no file, no process. What a strategy proposes depends only on the space, its
// options and what it was told, so a stored run goes on by telling its trials again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial/trial.h"
#include "tuner/models/launch_gate.h"
#include "tuner/models/repeats.h"
#include "tuner/recommendation.h"
#include "tuner/space/objective.h"
#include "tuner/space/space.h"

namespace ocrtune {

struct Proposal {
  Knobs knobs;
  std::string phase;              // baseline | rule | ladder | model | sweep | race
  std::string why;                // what this trial is to find out, in words
  std::uint64_t guard_bytes = 0;  // where the trial is to be stopped; 0: at the limit
  int round = 0;                  // as Trial::round
};

// What a strategy believes about a setting without running it.
struct Prediction {
  Interval samples_per_second;  // 95 % interval of the true rate; all zero: no idea
  Interval objective_value;     // the same of what the objective asks for
  MemoryForecast memory;
  bool admitted = true;
  bool may_work = true;  // false: it failed, or surely would; not admitted and true: not known
  Reason reason;         // why it would not be launched
};

// By how much better anything else may be for a search to end by its own rule.
inline constexpr double kMaxOpenGain = 0.1;

// What may be further ahead than that: the certificate of an answer is as wide. Or what other load
// left open.
struct OpenQuestion {
  Knobs chosen;          // the answer, were the search to end here
  Knobs rival;           // the setting that may be furthest ahead of it, tried or not
  double objective = 0;  // of `chosen`, as the verdict has it
  // Whose turn it is where an answer beside other load lacks turns of the two; unset: it lacks
  // none.
  std::optional<Knobs> turn = {};
};

struct SearchOptions {
  LaunchGateOptions safety;
  Objective objective;
  double cores = 0;                        // effective cores; 0: found from the space
  int cpus = 0;                            // usable CPUs; 0: as cores
  double first_trial_seconds = 5;          // what a trial is taken to cost before any has run
  double expected_noise = kExpectedNoise;  // relative, between repeats
  std::vector<Knobs> first;                // always measured: the user's setting, then the rules'
  std::vector<Knobs> hints;  // the fastest of an earlier run, best first; may lie outside
  std::uint64_t seed = 1;
  // Samples between two updates of the weights that the answer keeps; 0: the recipe is free.
  std::int64_t recipe_batch = 0;
  std::vector<std::string> doubted;  // knobs that may never reach the program: tested first
  // Counts whose list ocrtune made itself, and how far it may go on
  // (tuner/search/growing_search.cpp).
  std::vector<std::pair<std::string, int>> further;
  std::function<bool(const Knobs&)> allows;  // a setting of such a longer list; empty: any
};

class Search {
 public:
  virtual ~Search() = default;

  // Nothing: the search is over, `stop_reason` says why. `seconds_left` is what the whole budget
  // still holds; a strategy shares it out between exploring and the race.
  virtual std::optional<Proposal> next(double seconds_left) = 0;
  // The trial that tells most about an open question, once the strategy would end. Nothing: no
  // trial that may run tells more.
  virtual std::optional<Proposal> settle(const OpenQuestion& /*question*/,
                                         double /*seconds_left*/) {
    return std::nullopt;
  }
  // Trials of points outside the space are ignored.
  virtual void tell(const Trial& trial) = 0;
  virtual std::string stop_reason() const = 0;

  virtual const Objective& objective() const = 0;
  virtual Prediction predict(const Knobs& knobs) const = 0;
  // The speed model in words; empty where there is none.
  virtual std::vector<FittedTerm> terms() const { return {}; }
  // Knobs that were found to change nothing.
  virtual std::vector<InertKnob> inert() const { return {}; }
  // The space that is searched, without these knobs and with lists that went on; null: the one that
  // was given.
  virtual const Space* own_space() const { return nullptr; }
};

// With the inert knobs at what is kept of them.
Knobs fold(Knobs knobs, const std::vector<InertKnob>& inert);
Trial folded(Trial trial, const std::vector<InertKnob>& inert);

using SearchMaker = std::unique_ptr<Search> (*)(const Space& space, const SearchOptions& options);

std::unique_ptr<Search> make_model_search(const Space& space, const SearchOptions& options);

inline constexpr int kSmallSpace = 150;  // points that a sweep is meant for
std::unique_ptr<Search> make_sweep_search(const Space& space, const SearchOptions& options);

// Searches with options.recipe_batch samples between two updates, above 0, by what `make` makes.
// Where all settings keep the recipe, or only one does, it is that alone.
std::unique_ptr<Search> make_recipe_search(const Space& space, const SearchOptions& options,
                                           SearchMaker make);

// What `make` makes, anew for each space that a list which goes on gives. Without
// SearchOptions::further, or without such lists in the space, it is that alone.
std::unique_ptr<Search> make_growing_search(const Space& space, const SearchOptions& options,
                                            SearchMaker make);

// A sweep of a small space that the budget holds; else a model and a race.
std::unique_ptr<Search> make_search(const Space& space, const SearchOptions& options);

}  // namespace ocrtune
