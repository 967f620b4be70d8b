// What a precision other than fp32 costs in characters that are read otherwise: said beside every
// answer that has one, so that nobody takes the speed without having seen it.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Reads up to 200 of the run's lines in both precisions, one line of words. Empty where nothing was
// given up: fp32, noise in place of lines, seeded weights, GPUs, a service of the user's. Tells on
// stderr that it works, unless `quiet`.
Result<std::string> reading_price(const RunRecord& run, bool quiet);

}  // namespace ocrtune
