// The tables that `ocrtune list` prints, one row each; completion takes its words from them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "reports/markup/table.h"

namespace ocrtune {

struct Topic {
  const char *name, *help;
  // The words of a table stand in its first column. `database` as in --db; only "runs" reads it.
  Result<Table> (*make)(const std::string& database);
};

const std::vector<Topic>& list_topics();  // alphabetical

}  // namespace ocrtune
