// What tune and doctor do for a command whose log reader nobody named: start it once, and find in
// its first lines how it tells its speed.
#pragma once

#include <string>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Sets options.log_reader or options.metric, and options.metric_of; gives what was taken, in words.
// Empty: a reader is named, or nothing of the command's is read. `silent`: nothing is drawn while
// it listens. usage: no line holds a speed; quotes one, with an option that would read it. failed:
// the command did not come so far, with its own last words. interrupted.
Result<std::string> find_log_reader(RunOptions& options, const Machine& machine, bool no_wait,
                                    bool silent);

}  // namespace ocrtune
