// What tune and doctor do for a command whose log reader nobody named: start it once, and find in
// its first lines how it tells its speed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/logs/reader_finder.h"
#include "trial/state_files.h"
#include "trial/trial.h"
#include "tuner/job/job.h"

namespace ocrtune {

// Sets log_reader or metric of the job's command, and per_rank; gives what was taken, in words.
// Empty: a reader is named, or nothing of the command's is read. `silent`: nothing is drawn while
// it listens. usage: no line holds a speed; quotes one, with an option that would read it. failed:
// the command did not come so far, with its own last words. interrupted. On an error `unread` gets
// the trial that was listened to: what held it back and what ended it show without a speed.
Result<std::string> find_log_reader(Job& job, const SearchRequest& search, const Machine& machine,
                                    bool no_wait, bool silent, std::optional<Trial>& unread);

// Where trials of the user's command may write over states that are there; none where no command
// of the user's runs on this machine.
std::optional<StateFiles> user_states(const Job& job, const SearchRequest& search);

// What happened to them since the last look; empty: nothing.
std::string overwritten_note(std::optional<StateFiles>& states);

// Why `finder` took nothing of what the command of `trial` printed. Errors: as above; exhausted:
// the command could not be started.
Error nothing_heard(const ReaderFinder& finder, const Trial& trial, const std::string& log_file);

}  // namespace ocrtune
