// All runs of a store on one page: for each workload how its rate went from run to run, and what
// each run answered.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

// A run's page with its row in a comment before it, so that the next index is made without judging
// the run again. `key` is what the page was made of.
std::string page_with_row(const IndexRow& row, const std::string& key, const std::string& page);
// Of the first kRowBytes of such a page; none: it has no row, or was made of something else.
std::optional<IndexRow> row_of_page(std::string_view page, const std::string& key);
inline constexpr std::size_t kRowBytes = 16384;

// Rows newest first. `language` as in PageOptions.
std::string run_index_html(const std::vector<IndexRow>& rows, const std::string& language = "auto");

}  // namespace ocrtune
