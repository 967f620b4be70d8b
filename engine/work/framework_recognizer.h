// Recognisers whose network is computed by a framework of the user's Python.
//
// Pictures, batches and dictionary stay those of the built-in engine: where the texts differ it is
// the framework's arithmetic. The network comes from the ONNX file (Paddle: from its own form
// beside that). The framework runs in a process of its own, framework_engine.py.
#pragma once

#include <memory>

#include "base/result.h"
#include "core/infer/recognizer.h"

namespace ocrtune {

// options.backend is a framework's. unsupported: it cannot read the model; missing: no Python, or
// this program was installed without its share/ folder. Its check_against_reference() gives 0: its
// texts are compared instead.
Result<std::unique_ptr<Recognizer>> make_framework_recognizer(const RecognizerOptions& options,
                                                              const Alphabet& alphabet);

}  // namespace ocrtune
