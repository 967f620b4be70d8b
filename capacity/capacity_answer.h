// The capacity plan as a plain answer in words.
#pragma once

#include <string>

#include "capacity/capacity.h"

namespace ocrtune {

// "3 nodes of this kind (2-4 at 90 %) do 12,000 samples/min with p99 under 80 ms; at 2 nodes ..."
std::string capacity_answer(const CapacityPlan& plan);

// plan_capacity with its answer filled in: what commands call.
Result<CapacityPlan> answer_capacity(const NodeMeasurement& node, const CapacityDemand& demand);

std::string rate_words(double per_second);  // "200 samples/s", "12,000 samples/min"

}  // namespace ocrtune
