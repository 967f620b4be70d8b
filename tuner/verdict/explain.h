// The reasons of a verdict: why this setting, why not its neighbours, and what to try next.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

struct Choice {  // what the reasons are about
  const Setting* chosen = nullptr;
  const Setting* baseline = nullptr;       // null: none was given, or it failed
  const Setting* beyond_recipe = nullptr;  // clearly faster than the chosen one, another recipe
  const Setting* contender = nullptr;      // what would be chosen, were it clearly faster than that
  std::vector<const Setting*> ties;        // `chosen` included
  bool lightest = false;                   // the chosen one is the lightest of them
  std::vector<const Setting*> unsettled;   // of the race; slower on paper, but not clearly
  std::vector<const Setting*> near;        // as `unsettled`, raced or not; best first
  std::uint64_t limit_bytes = 0;           // 0: unknown
  double margin = 0;
  Objective objective;
  std::int64_t recipe_batch = 0;  // settings with another global batch are no rivals; 0: all are
  double noise = 0;
  int crowding = 0;  // settings that were left out as Setting::crowds_out
  double trial_seconds = 0;
};

// Whether a setting trains by the recipe that the answer keeps; 0: it keeps none.
bool keeps_recipe(std::int64_t recipe_batch, const Knobs& knobs);
// Settings of the space that do, and work or were not tried: each may be the answer.
int possible_answers(const Space& space, const Choice& verdict,
                     const std::vector<Setting>& settings);

// How a setting ended that does not work: out of memory: 71 GiB of 64 GiB.
Reason failure_of(const SettingSummary& setting);

// What a setting that ties needs more of: more memory, more threads; empty: nothing.
Reason needs_more(const SettingSummary& tie, const SettingSummary& chosen);

Reason inert_reason(const InertKnob& knob);  // that it changed nothing here, and why

std::vector<Reason> reasons_for(const Choice& verdict);
std::vector<Neighbour> rejected_neighbours(const Space& space, const Search& search,
                                           const Choice& verdict,
                                           const std::vector<Setting>& settings);
// A few of Choice::near.
std::vector<Neighbour> close_settings(const Choice& verdict);
// Why the trials do not settle the question, and what is known; empty: they do. Not settled: one
// that ran may be clearly faster (20 % for 5 %) by reason of other load; or other load disturbed
// all windows of the chosen one or, where that is the baseline, of all settings; or only one of
// several possible answers gave a rate.
Reason inconclusive_reason(const Choice& verdict, const std::vector<Setting>& settings,
                           const Space& space);
// Empty when the chosen setting is clearly ahead of all that do not tie with it.
Reason noise_statement(const Choice& verdict);

// The first of `settings`, which are in their order, beside the chosen one: it works and keeps the
// recipe. Null: none.
const Setting* next_best(const Choice& choice, const std::vector<Setting>& settings);

}  // namespace ocrtune
