// The bottleneck ledger: where a step's time goes, drawn as bars in a table, with what ending each
// waste would bring at most.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/bottleneck.h"

namespace ocrtune {

// Empty without step times.
std::string ledger_table(const std::vector<Bottleneck>& bottlenecks, const RunRecord& run);

}  // namespace ocrtune
