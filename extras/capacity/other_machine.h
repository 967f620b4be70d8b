// The same work on a machine that was only probed: scaled, widened, and said so.
//
// Processes grow with the cores and the rate follows the scaling fit of the measured node, times
// the ratio of the cores' measured speeds; memory bandwidth, where both machines know theirs,
// bounds the gain. Whether work is bound by cores or by bandwidth is not known, so both are drawn.
// A core's speed at multiply-adds is not its speed at this work: the ratio stays open by 10 %, and
// by 20 % where a machine's is unknown.
#pragma once

#include "base/result.h"
#include "extras/capacity/node_measurement.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// A file written by `probe --json`. invalid: not one, or of another version.
Result<Machine> read_machine(const std::string& path);

// unsupported: the process count there lies beyond what back-tests of the measured curve support,
// or the setting does not fit its memory.
Result<NodeMeasurement> scale_to_machine(const NodeMeasurement& node, const Machine& machine);

}  // namespace ocrtune
