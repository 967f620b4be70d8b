// The agent that was here before, of the same run: a launcher that lost its link may start a new
// one while the old one, with its job, still waits for a word. Two trainings must not meet.
//
// An agent holds a record lock (fcntl) on a file in /tmp that is named after its user, host and
// run; the kernel says whose it is, and gives it up with its process. Where no file can be had,
// nobody is found.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

// This process is the run's agent here from now on. `run`: small letters, digits and dots.
void hold_run(const std::string& run);
void tell_leaving();  // it gives its job the grace, and is not to be asked again
void release_run();   // just before it ends

// Asks the run's former agent to end, waits for its leave (extras/hosts/agents.h) and kills it
// then. failed: it is still there; interrupted.
Status end_former_agent(const std::string& run, double grace_seconds);

}  // namespace ocrtune
