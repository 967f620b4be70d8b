// A fleet over a year (capacity/year.h) as console text, as JSON and as year.csv.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "capacity/year.h"
#include "reports/markup/table.h"

namespace ocrtune {

// What it comes to: machines, spares, hours with a fixed and with a scaled fleet, hour by hour.
std::vector<std::string> year_sentences(const YearPlan& year, const CapacityPlan& plan);
std::string year_text(const YearPlan& year, const CapacityPlan& plan, int width);
nlohmann::ordered_json year_json(const YearPlan& year, const CapacityPlan& plan);
Table year_table(const YearPlan& year);  // a row for each month, from now on

}  // namespace ocrtune
