// An answer on a machine that is never idle: what the settings did in turns beside the load that
// was there.
//
// Rates that are freed of other load by a model leave open which setting is faster where no window
// was quiet. Settings that were visited in turns met the same load, so the ratio of their rates as
// measured is an observation of its own, and its interval rests on repeats alone. It is a claim for
// the machine with this load; what an idle machine would show stays open unless the freed rates say
// the same.
#pragma once

#include <optional>
#include <vector>

#include "tuner/verdict/choice.h"

namespace ocrtune {

// Samples / seconds over all windows, disturbed ones included. 0: no window.
double measured_rate(const Trial& trial);

// The trials as they went, each window taken for what it is.
std::vector<Trial> as_measured(const std::vector<Trial>& trials);

// How many windows of each setting's trials were clean, and how many disturbed; as_measured() has
// one of each trial.
void count_windows(const std::vector<Trial>& trials, std::vector<Setting>& settings);

// Relative standard deviation between repeats of a setting, pooled over as_measured() trials, with
// none of them left out: what load does to single trials is part of the claim. 0: no repeats.
double measured_noise(const std::vector<Trial>& trials);

// Whether the two settings were visited in turns: at least twice each, never all of one first.
bool in_turns(const std::vector<Trial>& trials, const Knobs& a, const Knobs& b);

// Whether a choice among settings of as_measured() trials is an answer: clearly faster than the
// baseline (or, without one, than the next) in turns, or the baseline with nothing left that may be
// faster by more than a fifth.
bool settles_beside_load(const Choice& choice, const std::vector<Setting>& settings,
                         const std::vector<Trial>& trials, const Space& space);

// The two settings that such an answer rests on, where it lacks turns of them or is not clear yet.
struct Turns {
  Knobs chosen, rival;
  Knobs next;  // the one of them that did not run last
};

// Nothing: there is an answer, or nothing that it could be compared with.
std::optional<Turns> lacking_turns(const Choice& choice, const std::vector<Setting>& settings,
                                   const std::vector<Trial>& trials, const Space& space);

}  // namespace ocrtune
