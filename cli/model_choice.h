// Which model and alphabet reads the lines: the checkpoint's, the ONNX file's, or what the flags
// say.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

struct ModelChoice {
  std::string model;
  std::string alphabet;  // its characters
  int classes = 0;
  int height = 0;       // of lines, as an ONNX file has it; 0: as the flags say
  std::string refusal;  // why the built-in engine cannot compute it; empty: it can
};

// `alphabet`: a file, a name or the characters themselves; empty: the checkpoint's, else "alnum".
// `model`: empty: the checkpoint's, else crnn. `height`: as the user gave it, else 0. missing,
// invalid: the checkpoint or a file; unsupported: an ONNX file that is no recogniser; usage: no
// such model, or flags that an ONNX file answers itself. `elsewhere`: a framework may compute it,
// so that an ONNX file which the engine lacks operators for is no error: `refusal` says why.
Result<ModelChoice> choose_model(const std::string& checkpoint, const std::string& model,
                                 const std::string& alphabet, int height, bool elsewhere = false);

}  // namespace ocrtune
