// Recognisers whose network is computed by a framework of the user's Python, in a process of it.
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

namespace ocrtune {

// options.backend is a framework's. unsupported: it cannot read the model; missing: no Python, or
// this program was installed without its share/ folder. Its check_against_reference() gives 0: its
// texts are compared instead.
Result<std::unique_ptr<Recognizer>> make_framework_recognizer(const RecognizerOptions& options,
                                                              const Alphabet& alphabet);

// Writes `model` in 8 bits to `file`, rounded by what ONNX Runtime's own tool sees in these
// pictures, each read once. missing, unsupported: the tool is not there, or cannot.
Status quantize_recognizer(const RecognizerOptions& options,
                           const std::vector<std::string>& pictures, const std::string& file);

}  // namespace ocrtune
