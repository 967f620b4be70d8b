// What both sides of trial/workloads/engine_train/fit_process.h call the figures of a training that
// ended.
#pragma once

#include "core/train/training_run.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {

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
