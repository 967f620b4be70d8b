// The seeded training step that hosts are compared by: EngineParts::step_rates.
#pragma once

#include <vector>

#include "base/result.h"

namespace ocrtune {

Result<std::vector<double>> measure_step_rates(int threads);

}  // namespace ocrtune
