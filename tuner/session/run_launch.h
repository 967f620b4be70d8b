// What `run` starts of a stored run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/workload.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Keeps what the preset has made of the user's command, so that later answers do not depend on its
// config, and the whole of it for the trials of this process.
void keep_prepared(Job& job, const SearchRequest& search, PreparedCommand prepared);

// The hosts that it recommends, the first one being the master; empty: this one, or not known.
std::vector<std::string> recommended_hosts(const RunRecord& run);

SeenOfProgram seen_of_program(const RunRecord& run);  // the run was judged

// Whether the run's trials had the knob `name` in force, so that its value means something.
bool had_in_force(const RunRecord& run, const std::string& name);

// What `run --from` starts on `machine`: the run's own command, or `command` in its place, with the
// recommended knobs. The run was judged and has a recommendation. usage: no command, one that
// ignores a recommended knob, or a stored one with a masked secret; missing: the folder, program,
// config or a variable that is not stored.
Result<LaunchSetting> launch_setting(const RunRecord& run, const std::vector<std::string>& command,
                                     const Machine& machine);

}  // namespace ocrtune
