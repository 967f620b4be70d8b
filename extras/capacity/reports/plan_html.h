// A plan's document as sections of a page: of the sheet to sign, and beside a run.
#pragma once

#include <string>

#include "extras/capacity/reports/plan_document.h"

namespace ocrtune {

// Badges, answer, tables and assumptions in one section.
std::string plan_section(const PlanDocument& document);
// All of it, with numbers, alerts and signatures.
std::string plan_sheet_sections(const PlanDocument& document);

}  // namespace ocrtune
