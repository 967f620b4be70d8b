// The scaling fit in sentences that a person can act on, most important first.
#pragma once

#include <string>
#include <vector>

#include "tuner/verdict/scaling.h"

namespace ocrtune {

std::vector<std::string> scaling_words(const ScalingFit& fit);

}  // namespace ocrtune
