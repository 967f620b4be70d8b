// A plan for machines: `plan --json`, the CSV files, and its document read back for a run's page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "extras/capacity/fleet_plan.h"
#include "extras/capacity/reports/plan_document.h"
#include "reports/markup/table.h"

namespace ocrtune {

std::string plan_json(const FleetPlan& fleet);
std::string store_test_json(const std::vector<StoreBackTest>& tests);  // {"store_back_test": ...}

// The `document` of plan --json. Unknown or wrong fields are left out.
PlanDocument read_plan_document(const nlohmann::json& json);

Table capacity_table(const CapacityPlan& plan);  // a row for each machine count
Table year_table(const YearPlan& year);          // a row for each month, from now on
Table kinds_table(const FleetPlan& fleet);       // a row for each kind
Table back_test_table(const std::vector<StoreBackTest>& tests);

}  // namespace ocrtune
