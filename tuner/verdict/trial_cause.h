// The row of the table of causes (diagnosis/causes.h) that explains a failed trial.
#pragma once

#include "diagnosis/causes.h"
#include "trial/trial.h"

namespace ocrtune {

// By the trial's outcome and cause; for a process that died or hung, by the signatures in its log.
// None when neither says enough: a wrong fix is worse than none.
const CauseRow* cause_row_of(const Trial& trial);

}  // namespace ocrtune
