// A run out of the store, judged: what show, report and comparisons start from.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// `database` empty: the default store. `id` may be "last" or any unambiguous beginning. Errors:
// missing (no store, no such run), usage (ambiguous), invalid (damaged, from a newer version).
Result<RunRecord> judged_run(const std::string& database, const std::string& id);

// What tune and show end with: fine if the run recommends a setting, negative if it has none or is
// inconclusive.
int exit_code_of(const RunRecord& run);

}  // namespace ocrtune
