// Where the seconds of a step go for the settings that people ask about, and what ending each
// waste would bring at most.
#pragma once

#include <string>
#include <vector>

#include "tuner/store/run_record.h"

namespace ocrtune {

struct Bottleneck {
  std::string role;  // "recommended", "baseline", or the name of a rule of thumb
  Knobs knobs;
  double samples_per_second = 0;
  StepTimes step;  // mean over the valid windows of all its trials
  // Rates if the part took no time: an infinitely fast loader, free gradients, equal ranks. Upper
  // bounds: a part that ends may show another one that it hid.
  double ceiling_without_data = 0;
  double ceiling_without_all_reduce = 0;
  double ceiling_without_wait = 0;

  double step_seconds() const;
};

// For the recommended setting, the user's own and each rule's, where step times were measured. A
// setting with two roles stands once, under the first.
std::vector<Bottleneck> bottlenecks(const RunRecord& run);

// The mean step of a setting's valid windows; all zero when none reported its parts.
StepTimes mean_step(const std::vector<Trial>& trials, const Knobs& knobs);

// Empty without step times.
std::string ledger_table(const std::vector<Bottleneck>& bottlenecks, const RunRecord& run);

}  // namespace ocrtune
