// What a sample costs in CPU time, as far as trials show it: the witness beside the wall clock. It
// hardly changes with other load, but where threads spin for one that waits for a CPU.
#pragma once

#include <map>
#include <vector>

#include "trial/trial.h"
#include "tuner/space/objective.h"

namespace ocrtune {

class SampleCost {
 public:
  // True if what is known of some setting has changed by it.
  bool add(const Trial& trial);

  // CPU seconds of a sample without spinning: of the setting's own undisturbed trials, else the
  // least of all trials that do the same work, whatever their processes, threads, batch, loader
  // workers and binding. 0: not observed.
  double least(const Knobs& knobs) const;

 private:
  std::map<Knobs, std::vector<double>> quiet_;
  std::map<Knobs, double> by_work_;
};

// The trial's objective, put right for other load and for what `cost` knows of its spinning where
// that is a rate: for comparing settings, not to be told.
double rate_by(const SampleCost& cost, const Trial& trial, const Objective& objective);

}  // namespace ocrtune
