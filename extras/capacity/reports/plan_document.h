// A capacity plan as a document: what console, page, sheet to sign, JSON and CSV all show.
//
// Every number with its basis, source and date; tables; what was assumed and what was not measured;
// what to measure next; queries that give a series while an assumption does not hold.
#pragma once

#include <string>
#include <vector>

#include "reports/catalogue/phrases.h"

namespace ocrtune {

struct PlanNumber {
  Bilingual item, value;
  std::string basis;  // phrase: measured | simulated | given | assumed | extrapolated
  Bilingual source;
  std::string date;  // "2026-11-22"; empty: unknown
};

struct PlanTable {
  std::string title;                  // phrase
  std::vector<std::string> headings;  // phrases; '#' before one: a column of numbers
  std::vector<std::vector<Bilingual>> rows;
};

// PromQL that gives a series while the assumption does not hold.
struct PlanWatch {
  Bilingual assumption;
  const char* alert;       // its name in rules: "OcrtuneLoadAbovePeak"
  std::string expression;  // what is watched
  const char* comparison;  // ">" | "<"
  std::string limit;       // that it is compared with
  std::string query() const { return expression + " " + comparison + " " + limit; }
};

struct PlanDocument {
  std::vector<Bilingual> answer;    // sentences, the first of them answers the question
  std::vector<std::string> badges;  // phrases: "EXTRAPOLATED"
  std::string command_line, date;
  std::vector<PlanNumber> numbers;
  std::vector<PlanTable> tables;
  std::vector<Bilingual> assumptions, gaps, next;
  std::vector<PlanWatch> watches;
  Bilingual query_note;  // whose metrics those are
};

}  // namespace ocrtune
