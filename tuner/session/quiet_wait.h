// Waits until other programs leave the machine's CPUs alone, by the measure that discards windows
// of a trial (trial/observe/interference.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process_tree.h"
#include "base/result.h"
#include "trial/observe/interference.h"

namespace ocrtune {

struct MachineLook {
  LoadSnapshot load;
  std::vector<ProcessFacts> processes;
};
using LookAtMachine = std::function<MachineLook()>;
LookAtMachine live_look(Clock& clock);  // /proc; no process is taken for one of ours

struct QuietWait {
  bool quiet = false;
  double seconds = 0;  // waited so far
  // The last few seconds: "other processes used 1.30 CPUs (limit 0.10): cc1plus (pid 71) 0.90,
  // ...".
  std::string disturbed_by;  // empty: nothing did
};

// Looks every 5 s (sooner if less may be waited) until such a stretch is undisturbed, or
// `max_seconds` are over. `tell` hears of each disturbed stretch. Errors: interrupted.
Result<QuietWait> wait_until_quiet(double max_seconds, double cpus, Clock& clock,
                                   const LookAtMachine& look,
                                   const std::function<void(const QuietWait&)>& tell);

// Who used the CPUs between two looks, the three busiest programs: "cc1plus (pid 71) 0.90, ...".
// Programs of one name count together, under the busiest one's pid.
std::string busiest_programs(const MachineLook& before, const MachineLook& after, int own_pid);

}  // namespace ocrtune
