// A judged run as the one JSON document that `tune --json` and `show --json` print.
//
// Names carry units and stay as they are once published; docs/schema.md describes them.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tuner/store/run_record.h"

namespace ocrtune {

std::string run_json(const RunRecord& run, int indent = 2);  // indent -1: one line

nlohmann::ordered_json held_back_json(const std::vector<HeldBack>& held);

// One line of `tune --progress json`: a trial that has ended.
struct TrialProgress {
  int number = 0;  // of the run, from 1
  const Trial& trial;
  const char* unit = "";               // "samples/s"
  double best_samples_per_second = 0;  // highest single trial so far; 0: none
  double budget_left_seconds = 0;
};
std::string progress_json(const TrialProgress& progress);

}  // namespace ocrtune
