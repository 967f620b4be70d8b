// A capacity plan as console text, as JSON and as capacity.csv.
#pragma once

#include <string>

#include "capacity/capacity.h"
#include "capacity/machine_kinds.h"
#include "capacity/year.h"
#include "reports/markup/table.h"

namespace ocrtune {

std::string capacity_text(const CapacityPlan& plan, int width);
// The first kind's plan, and with several kinds all of them; `year` may be null.
std::string capacity_json(const KindsPlan& plans, const YearPlan* year = nullptr);
Table capacity_table(const CapacityPlan& plan);  // a row for each machine count
std::string capacity_csv(const CapacityPlan& plan);

// The figures of one back-test in a line.
std::string back_test_words(const BackTest& test);

}  // namespace ocrtune
