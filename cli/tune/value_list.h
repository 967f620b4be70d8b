// The values of a knob or a dimension as typed: "1,2,4", "1-4", "fp32,bf16".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// `flag`, such as "--nproc", begins each error. A part "a-b" of two whole numbers stands for each
// of them where `counts` is set. usage: a value between commas is empty, a range falls, or it holds
// more than 64 numbers.
Result<std::vector<std::string>> read_value_list(const std::string& flag, const std::string& text,
                                                 bool counts);

}  // namespace ocrtune
