// A plan's document (reports/plan/plan_document.h) made of the plan.
#pragma once

#include <vector>

#include "capacity/fleet_plan.h"
#include "reports/plan/plan_document.h"

namespace ocrtune {

PlanDocument plan_document(const FleetPlan& fleet);

// Predictions from stored runs beside what others measured (capacity/store_back_test.h).
PlanTable store_test_table(const std::vector<StoreBackTest>& tests);

// The watches alone, and whose metrics they name: a part of plan_document().
void add_watches(const FleetPlan& fleet, PlanDocument& document);

}  // namespace ocrtune
