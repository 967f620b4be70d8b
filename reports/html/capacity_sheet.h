// A capacity plan as one page to sign: every number with its source, date and an owner to fill in,
// what was not measured, what to measure next, and queries that tell when an assumption breaks.
#pragma once

#include <string>
#include <vector>

#include "capacity/machine_kinds.h"
#include "capacity/year.h"
#include "reports/catalogue/phrases.h"
#include "reports/markup/table.h"

namespace ocrtune {

struct SheetRow {
  Bilingual item, value;
  std::string basis;  // phrase: measured | simulated | given | assumed
  Bilingual source;
  std::string date;  // "2026-11-22"; empty: unknown
};

struct SheetWatch {
  Bilingual assumption;
  std::string query;  // PromQL that gives a series while the assumption does not hold
};

struct CapacitySheet {
  Bilingual answer;
  std::string command_line;
  std::string date;
  std::vector<SheetRow> rows;
  std::vector<Bilingual> assumptions, not_measured, next;
  std::vector<SheetWatch> watches;
  Bilingual query_note;  // whose metrics those are
};

// `year` may be null. `date`: of today, "2026-11-22".
CapacitySheet capacity_sheet(const KindsPlan& plans, const YearPlan* year,
                             const std::string& command_line, const std::string& date);

std::string sheet_html(const CapacitySheet& sheet);
enum class SheetLanguage { english, chinese };
std::string sheet_markdown(const CapacitySheet& sheet, SheetLanguage language);
Table sheet_table(const CapacitySheet& sheet);  // in English, as sheet.csv

}  // namespace ocrtune
