// All runs of a store as one plain HTML table.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

struct IndexRow {
  std::string id, name, started;
  std::string subject;  // what was measured
  std::string verdict;  // "safe", "inconclusive", ...
  std::string answer;   // a sentence
  std::string rate;     // with its unit; empty: none
  std::string link;     // relative; empty: no page
};

// A document of its own, without scripts; rows in their order.
std::string run_index_html(const std::vector<IndexRow>& rows);

}  // namespace ocrtune
