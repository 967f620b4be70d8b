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

}  // namespace ocrtune
