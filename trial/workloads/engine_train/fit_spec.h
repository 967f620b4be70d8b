// What a process that trains to a step on a GPU is told: `ocrtune-gpu-worker fit --spec JSON`.
#pragma once

#include <string>

#include "base/result.h"
#include "core/train/training_run.h"

namespace ocrtune {

struct FitSpec {
  TrainingRunOptions run;  // but for its functions
  std::string gpu;         // UUID of the GPU that it must compute on
  std::string folder;      // where several ranks (run.place) meet
};

std::string fit_spec_text(const FitSpec& spec);           // one line of JSON
Result<FitSpec> parse_fit_spec(const std::string& text);  // usage: what is wrong with it

// What both sides of fit_process.h call the figures of a training that ended.
inline constexpr auto kOutcomeFields = [](auto& outcome, const auto& visit) {
  visit("steps", outcome.steps);
  visit("interrupted", outcome.interrupted);
  visit("impossible_labels", outcome.impossible_labels);
  visit("good", outcome.counts.good);
  visit("bad", outcome.counts.bad);
  visit("bad_examples", outcome.counts.bad_examples);
  visit("evaluated", outcome.evaluated);
  visit("edits", outcome.evaluation.edits);
  visit("length", outcome.evaluation.length);
  visit("lines", outcome.evaluation.lines);
  visit("exact_lines", outcome.evaluation.exact_lines);
};

}  // namespace ocrtune
