// A run as tables: what the CSV files hold. Columns are described in docs/schema.md; names carry
// their units and stay as they are once published.
#pragma once

#include "reports/markup/table.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// A row for each measuring window of each trial; a trial without windows has one row.
Table trials_table(const RunRecord& run);
// A row for each setting, best first.
Table summary_table(const RunRecord& run);
// A row for each fact of the machine.
Table probe_table(const Machine& machine);
// A row for each trial that was not ok.
Table failures_table(const RunRecord& run);

}  // namespace ocrtune
