// What the frameworks of the user's Python say of a model before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/engine_infer/framework_table.h"

namespace ocrtune {

// What a framework says of a model before anything is measured.
struct FrameworkAnswer {
  const FrameworkRow* framework = nullptr;
  std::string version;
  int classes = 0;
  bool missing = false;  // its package is not installed
  std::string refusal;   // one line; empty: it reads the model
};

// The active virtual environment's Python, else that of PATH.
std::string framework_python();

// Reads one batch of zeros in each, all at once. One that is silent for too long is refused.
std::vector<FrameworkAnswer> ask_frameworks(const std::vector<const FrameworkRow*>& frameworks,
                                            const std::string& model, int height, int width);

// What starts framework_engine.py for a backend and a model. missing: this program was installed
// without its share/ folder.
Result<std::vector<std::string>> framework_command(const std::string& backend,
                                                   const std::string& model);

}  // namespace ocrtune
