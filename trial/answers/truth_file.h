// The true texts of inputs: a label file of PaddleOCR.
//
// A line is PATH<TAB>TEXT of a line of text, or PATH<TAB>[{"transcription": TEXT, ...}, ...] of a
// page. Lines are found by the path, or by its last name where only one line has it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// The texts of each of `inputs` (paths), in their order. missing, denied: the file cannot be read;
// invalid: a line without a tab, no UTF-8, or an input that no line names, each with its name.
Result<std::vector<std::vector<std::string>>> read_truth(const std::string& path,
                                                         const std::vector<std::string>& inputs);

}  // namespace ocrtune
