// Several kinds of machine for one demand (capacity/machine_kinds.h) as text, JSON and kinds.csv.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "capacity/machine_kinds.h"
#include "reports/markup/table.h"

namespace ocrtune {

std::string kinds_text(const KindsPlan& plans, int width);             // empty with one kind
void add_kinds(const KindsPlan& plans, nlohmann::ordered_json& json);  // as `kinds` and `mix`
Table kinds_table(const KindsPlan& plans);                             // a row for each kind

std::string asked_unit(const CapacityPlan& plan);  // "pages", "line images", "images"

}  // namespace ocrtune
