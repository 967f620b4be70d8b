// For two suspects that remain, the one command that tells them apart.
#pragma once

#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

const std::vector<NextStep>& next_step_table();

// At most three, for the first suspect against those behind it and against those that its lines
// cannot rule out. None where the first is nearly certain, and none that reads what `logs` hold
// already.
std::vector<NextStep> next_steps(const std::vector<Cause>& causes,
                                 const std::vector<LogScan>& logs = {});

}  // namespace ocrtune
