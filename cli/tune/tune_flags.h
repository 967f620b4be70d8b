// The flags of `ocrtune tune` as typed, and the run options that they make.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/tune/command_flags.h"
#include "cli/tune/objective_flags.h"
#include "cli/tune/tune_device.h"
#include "cli/tune/tune_inference.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// The flags as typed; RunOptions is made of them once they are all known.
struct TuneFlags {
  RunOptions options;
  InferenceFlags inference;
  CommandFlags command;
  std::string budget, trial_time, memory_limit, data, db, out, resume;
  std::string buckets;  // of the lines, in words
  DeviceRequest device;
  ObjectiveFlags objective;
  std::vector<std::string> dims;
  std::string baseline;
  std::map<std::string, std::string> lists;  // knob -> "1,2,4"
  bool no_wait = false;
  bool json = false, dry_run = false, resuming = false, budget_given = false, model_given = false;
};

// Each reads part of `flags` into flags.options. usage: what is wrong, with the flag's name.
Status read_lists(TuneFlags& flags);
Status read_amounts(TuneFlags& flags);
Status read_data(TuneFlags& flags);
Status check_names(const RunOptions& options);
// The user's setting as given, or one process on all usable CPUs: what a plain start would be.
Status read_baseline(TuneFlags& flags, const Machine& machine);
// The run is measured again from other folders: verify, --resume.
void make_paths_absolute(RunOptions& options);

}  // namespace ocrtune
