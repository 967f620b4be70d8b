// The bottleneck ledger: where a step's time goes, drawn as bars in a table, with what ending each
// waste would bring at most.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/bottleneck.h"

namespace ocrtune {

std::string ledger_table(const std::vector<Bottleneck>& bottlenecks);  // empty without step times

}  // namespace ocrtune
