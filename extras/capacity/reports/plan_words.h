// The words of a capacity plan (fleet_plan.h), made of its facts, in both languages.
#pragma once

#include <string>
#include <vector>

#include "extras/capacity/fleet_plan.h"
#include "reports/catalogue/phrases.h"

namespace ocrtune {

// The first sentence answers all that was asked, and how sure it is; the others say what fewer
// machines would do, what survives, and what it costs.
std::vector<Bilingual> plan_answer(const FleetPlan& fleet);
// Of one kind: the same without year and mix.
Bilingual kind_answer(const CapacityPlan& plan);

std::vector<Bilingual> plan_assumptions(const FleetPlan& fleet);
Bilingual range_words(const ValidRange& range);

Bilingual rate_words(double per_second, const std::string& unit);  // "200 line images/s"
Bilingual source_words(const NodeMeasurement& node);               // "run 2026-...", "table t.csv"
std::string grouped(double value);                                 // 12000 -> "12,000"
Bilingual store_test_words(const std::vector<StoreBackTest>& tests);

const std::vector<Phrase>& plan_table();  // all fixed ones

}  // namespace ocrtune
