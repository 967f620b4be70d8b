// What `tune --dry-run` prints: the space, what the budget pays for, and every command line.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/job/job.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {

// As text: at most a dozen command lines.
Result<std::string> dry_run_text(const Job& job, const SearchRequest& search,
                                 const Machine& machine, const TuneSetup& setup);
// As one document (docs/schema.md).
Result<std::string> dry_run_json(const Job& job, const SearchRequest& search,
                                 const Machine& machine, const TuneSetup& setup);

}  // namespace ocrtune
