// The flags of `ocrtune tune` as typed, and the job and the search that they make.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"
#include "cli/hosts_door.h"
#include "cli/tune/command_flags.h"
#include "cli/tune/job_flags.h"
#include "cli/tune/objective_flags.h"
#include "cli/tune/tune_device.h"
#include "cli/tune/tune_inference.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct TuneFlags {
  std::vector<std::string> words;  // the whole command line
  JobFlags typed;
  Job job;  // made of `typed` by make_job()
  SearchRequest search;
  InferenceFlags inference;
  CommandFlags command;
  HostFlags hosts;
  std::string nodes;  // "1,2"
  std::string budget, trial_time, soak, prove_learning, memory_limit, data, db, out, resume, name,
      wait_quiet, notify;
  std::string progress = "text";
  std::string buckets;  // of the lines, in words
  DeviceRequest device;
  ObjectiveFlags objective;
  std::vector<std::string> dims;
  std::string baseline, from;
  std::map<std::string, std::string> lists;  // knob -> "1,2,4"
  std::vector<FileSetting> settings;         // that came from kSettingsFile
  std::vector<std::string> notes;            // on the command, once it was looked at
  bool no_wait = false;
  bool json = false, dry_run = false, resuming = false, budget_given = false, model_given = false;
};

// Budget, trial time and data; then what is run, the knobs and the search, and the settings file.
void declare_amounts(Flags& cli, TuneFlags& flags);
void declare_workload(Flags& cli, TuneFlags& flags);

// Whether ocrtune-engine is to do it: asked before anything is read or said.
bool needs_engine(const TuneFlags& flags);
// What is wrong with the flags by themselves: those below and all others that need no machine.
Status read_tune_flags(TuneFlags& flags);
// What the flags leave open, once the machine was looked at.
Status settle_flags(TuneFlags& flags, const Machine& machine);
// On stderr, if a settings file was read.
void say_settings(const TuneFlags& flags, const char* command);

// Each reads part of `flags` into flags.typed and flags.search. usage: what is wrong, with the
// flag's name.
Status take_engine_on_hosts(TuneFlags& flags);  // without a command: the engine's, over MPI
Status take_engine_in_paddle(TuneFlags& flags);
Status read_lists(TuneFlags& flags);
Status read_hosts(TuneFlags& flags);  // `nodes` becomes a dimension
Status read_amounts(TuneFlags& flags);
Status read_data(TuneFlags& flags);
// Models by name, before anything is measured.
Status check_names(const TuneFlags& flags);
// flags.job, once nothing of flags.typed is open. The run is measured again from other folders,
// by verify and --resume: its paths are made absolute.
void make_job(TuneFlags& flags);
// The user's setting as given, or one process on all usable CPUs: what a plain start would be.
Status read_baseline(TuneFlags& flags, const Machine& machine);
// What the run of --from found fastest.
Status read_hints(TuneFlags& flags);
// Where few settings are possible, each has more of the budget to find a rate that keeps a target.
void share_budget(TuneFlags& flags, const Machine& machine);
// usage: lists, conditions or a baseline that leave nothing to try on this machine. tune() would
// say so only after the command was listened to. Where the user named none of them nothing can be
// refused, and the setup is left to tune().
Status check_setup(const TuneFlags& flags, const Machine& machine);

// The values of a knob or a dimension as typed: "1,2,4", "1-4", "fp32,bf16".
// `flag`, such as "--nproc", begins each error. A part "a-b" of two whole numbers stands for each
// of them where `counts` is set. usage: a value between commas is empty, a range falls, or it holds
// more than 64 numbers.
Result<std::vector<std::string>> read_value_list(const std::string& flag, const std::string& text,
                                                 bool counts);

}  // namespace ocrtune
