// The kind of workload that is a command of the user's own, which trains or measures itself and
// prints how fast it is; and what it shares with a command that answers requests.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/workload.h"

namespace ocrtune {

struct ReadyCommand {
  CommandWorkload workload;  // as it was asked for
  PreparedCommand prepared;
};

struct UserCommandOptions {
  CommandWorkload command;               // as the user typed it
  std::vector<std::string> launch;       // what its preset makes of it, to be launched for good
  std::vector<std::string> launch_gpus;  // that {gpus} takes its names from there
  int evaluation_steps = -1;             // PreparedCommand's; -1: nothing to rehearse
  int gpus = 0;                          // that it may use; 0: CPUs, or unknown
  bool trains = true;                    // the rules of thumb and NCCL's knobs are about it
  int batch = 16;                        // that it has now
  std::string label_file;                // what it is known to read; empty: not known
  std::int64_t lines = 0;                // of it
  // Made of a workload that it was equal to then, by this process; null: not yet. Stored nowhere.
  std::shared_ptr<const ReadyCommand> ready;
};

std::unique_ptr<const Workload> make_user_command(UserCommandOptions options);

// What a trial runs: `ready`, or prepared now where the command has changed since. Errors: those of
// prepare_command.
Result<PreparedCommand> prepared_command(const UserCommandOptions& options, const Machine& machine);

// What its rate counts: steps where its reader reads these and the batch does not reach the
// command, runs where whole runs are timed and nobody says what one holds.
Unit command_unit(const CommandWorkload& command);

WorkloadSpace command_space(const UserCommandOptions& options, const Machine& machine);
WorkloadMemory command_memory(const UserCommandOptions& options, bool guards = true);

// The command as it was kept, with its preset worked in.
CommandWorkload kept_workload(const UserCommandOptions& options);
// The same, prepared, for an answer. Errors: those of prepare_launch, for a run that was stored
// before the preset's work was kept.
Result<PreparedCommand> kept_command(const UserCommandOptions& options, const Machine& machine);

// Knobs that change nothing, what is set by them, and variables that nothing of the program reads.
void leave_out(CommandWorkload& workload, const std::set<std::string>& inert);
void leave_out_unused(CommandWorkload& workload, const SeenOfProgram& seen);

}  // namespace ocrtune
