// A plan's document as console text, as Markdown and as sheet.csv.
#pragma once

#include <string>

#include "extras/capacity/reports/plan_document.h"
#include "reports/catalogue/reasons.h"
#include "reports/markup/table.h"

namespace ocrtune {

// Answer, tables, what one machine does and the assumptions: one screen.
std::string plan_console(const PlanDocument& document, int width, Language language);
std::string plan_table_text(const PlanTable& table, int width, Language language);

std::string plan_markdown(const PlanDocument& document, Language language);  // the whole sheet
Table plan_sheet_table(const PlanDocument& document);                        // in English

}  // namespace ocrtune
