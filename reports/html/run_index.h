// All runs of a store on one page: for each workload how its rate went from run to run, and what
// each run answered.
#pragma once

#include <string>
#include <vector>

#include "base/stats.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/verdict.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

struct IndexRow {
  std::string id, name, started;
  // Runs whose rates mean the same have an equal one: program, model and data, place and machine.
  std::string workload;
  Bilingual subject;  // what was measured
  std::string host;
  Badge badge;          // the verdict
  Bilingual answer;     // a sentence
  Interval rate;        // all zero: none
  std::string unit;     // of the rate
  std::string setting;  // the recommended one; empty: none
  std::string link;     // to its page, relative; empty: none
};

IndexRow index_row(const RunRecord& run);  // judged
// Of a run that cannot be judged, and why.
IndexRow unreadable_row(const std::string& id, const std::string& name, const std::string& started,
                        const std::string& command_line, const std::string& why);

// Rows newest first. `language` as in PageOptions.
std::string run_index_html(const std::vector<IndexRow>& rows, const std::string& language = "auto");

}  // namespace ocrtune
