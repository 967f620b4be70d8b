// A plan's document (plan_document.h) made of the plan.
#pragma once

#include <vector>

#include "extras/capacity/fleet_plan.h"
#include "extras/capacity/reports/plan_document.h"

namespace ocrtune {

PlanDocument plan_document(const FleetPlan& fleet);

// Predictions from stored runs beside what others measured (store_back_test.h).
PlanTable store_test_table(const std::vector<StoreBackTest>& tests);

// The watches alone, and whose metrics they name: a part of plan_document().
void add_watches(const FleetPlan& fleet, PlanDocument& document);

}  // namespace ocrtune
