// The capacity plan as a plain answer in words.
#pragma once

#include <string>

#include "capacity/capacity.h"

namespace ocrtune {

// "You need 75 machines of this kind for 200 line images/s with p99 under 80 ms (95 % sure; 71 ..."
std::string capacity_answer(const CapacityPlan& plan);

// plan_capacity with its answer filled in: what commands call.
Result<CapacityPlan> answer_capacity(const std::vector<NodeMeasurement>& settings,
                                     const CapacityDemand& demand);

// "200 line images/s", "12,000 pages/s"
std::string rate_words(double per_second, std::string_view unit);

}  // namespace ocrtune
