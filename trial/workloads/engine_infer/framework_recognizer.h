// Recognisers whose network is computed by a framework of the user's Python.
//
// Pictures, batches and dictionary stay those of the built-in engine: where the texts differ it is
// the framework's arithmetic. The network comes from the ONNX file (Paddle: from its own form
// beside that). The framework runs in a process of its own, framework_engine.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/infer/recognizer.h"
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

// options.backend is a framework's. unsupported: it cannot read the model; missing: no Python, or
// this program was installed without its share/ folder. Its check_against_reference() gives 0: its
// texts are compared instead.
Result<std::unique_ptr<Recognizer>> make_framework_recognizer(const RecognizerOptions& options,
                                                              const Alphabet& alphabet);

}  // namespace ocrtune
