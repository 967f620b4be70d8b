// What plan is made from: runs, stores of other machines, tables and probe files, with a price
// each.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "extras/capacity/fleet_plan.h"

namespace ocrtune {

// What the run `id` of a store measured. Errors: missing, and those of a run that cannot be planned
// from.
Result<std::vector<NodeMeasurement>> measure_run(const std::string& database,
                                                 const std::string& id);

// Each source is a run of `database`, a store file of another machine (its last run) or
// "FILE:RUN", a table, or a probe --json, to which the first other source is scaled; each may end
// in "=PRICE" an hour. Errors: usage (a price that does not fit, a probe alone), missing,
// invalid, unsupported (the scaling reaches too far).
Result<std::vector<MachineKind>> read_kinds(const std::vector<std::string>& sources,
                                            const std::string& database);

}  // namespace ocrtune
