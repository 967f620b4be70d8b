// Which model and alphabet reads the lines: the checkpoint's, or what the flags say.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

struct ModelChoice {
  std::string model;
  std::string alphabet;  // its characters
  int classes = 0;
};

// `alphabet`: a file, a name or the characters themselves; empty: the checkpoint's, else "alnum".
// `model`: empty: the checkpoint's, else crnn. missing, invalid: the checkpoint or a file; usage:
// no such model.
Result<ModelChoice> choose_model(const std::string& checkpoint, const std::string& model,
                                 const std::string& alphabet);

}  // namespace ocrtune
