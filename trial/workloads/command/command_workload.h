// The user's own launch command as a workload: `ocrtune tune ... -- CMD {nproc} {batch} ...`.
//
// Placeholders: every knob ({nproc} {threads} {batch} {workers} ...) and --dim by its name, and
//   {trial_dir}     a fresh folder of this trial
//   {port}          a free TCP port (--master_port={port}), new for each trial
//   {global_batch}  samples between two updates: nodes x nproc x batch x accumulate
//   {gpus}          "0,1": as many of the visible GPUs as there are processes
//   {gpu} {copy}    of a command that is one process on one GPU: nproc copies of it are started,
//                   {copy} on the GPU of this place and again from the first. Each sees its own GPU
//                   alone, as device {gpu}, 0; behind CUDA_VISIBLE_DEVICES= it is the GPU's name
//   {copy}          without {gpu}: nproc copies of the command are started on the CPUs
//   {seed} {rate_factor}  1; where trials train to be compared, up to 3, and of the learning rate
//   {rank_exec}     "<ocrtune> rank-exec --": in front of the program that each rank runs, binds it
// Knobs also act through the environment (OMP_NUM_THREADS, NCCL_*, MALLOC_ARENA_MAX). There is no
// shell anywhere: write `sh -c '...'` to have one.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trial/knobs.h"
#include "trial/learning.h"
#include "trial/trial.h"

namespace ocrtune {

// Steps from one evaluation to the next in a rehearsal.
inline constexpr int kRehearsalSteps = 6;

struct CommandWorkload {
  std::vector<std::string> command;  // argv with placeholders
  std::vector<std::string> setup;    // command lines run before each trial; not measured
  std::vector<std::string> cleanup;  // and after it, whatever became of it
  std::string directory;             // working directory; empty: ours
  std::string starter;               // the ocrtune whose rank-exec binds; empty: this program
  std::vector<std::pair<std::string, std::string>> environment;  // values may hold placeholders
  std::vector<std::string> inherited;  // variables that it needs from our own environment
  std::vector<std::string> unread;     // thread variables that nothing of it reads: left out
  std::string log_reader;              // a row of log_reader_table(), regex:..., json-lines:...
  std::vector<std::string> gpus;       // that {gpus} takes its names from; empty: the visible ones
  std::string metric;                  // NAME[:UNIT] of the number that is the speed; may be empty
  std::optional<bool> per_rank;        // whose numbers the log gives; unset: the reader's habit
  bool scope_assumed = false;          // per_rank is a guess: no line shows it
  std::string log_file;                // read this (placeholders) instead of stdout and stderr
  std::vector<std::string> answers;    // where its texts are: trial/answers/answer_places.h
  std::string truth;                   // label file with the true texts; empty: none
  std::optional<Knobs> present;    // how the user starts it now; texts are compared with its own
  bool as_typed = false;           // the present setting runs without variables of ours
  double max_change = 0;           // share of the characters that a setting may read otherwise
  std::string preset;              // "" or a row of preset_table()
  std::vector<std::string> knobs;  // names that the space turns or the user has fixed; others are
                                   // left as the command has them
  std::vector<std::string> fixed;  // of these, the ones with one value: facts about the command,
                                   // which need not reach it
  LearningAsk learning;            // {seed} and {rate_factor} are its own
  bool rehearses = false;  // a trial has what a preset otherwise leaves out of it: an evaluation
                           // and a checkpoint, every kRehearsalSteps steps
  bool serves =
      false;  // it answers requests (trial/workloads/service/served_target.h), prints no speed
  std::string scratch;            // folder for the trial folders; empty: under TMPDIR
  double stop_grace_seconds = 5;  // between SIGTERM and SIGKILL

  // Whether this is how the user starts it now; unset: nobody knows.
  std::optional<bool> is_present(const Knobs& setting) const {
    return present ? std::optional<bool>(*present == setting) : std::nullopt;
  }

  friend bool operator==(const CommandWorkload&, const CommandWorkload&) = default;
};

// Why a setting cannot work, known without running it.
struct Refusal {
  Outcome outcome = Outcome::unsupported;
  std::string cause;
  std::string reason;
};

// A workload whose preset has been worked in, with what is worth saying before the first trial.
// From prepare_command() in trial/workloads/command/command_prepare.h.
struct PreparedCommand {
  CommandWorkload workload;
  std::vector<std::string> launch;           // the command without what only a short trial needs
  std::vector<std::string> trial_variables;  // of the environment, which a short trial alone needs
  std::vector<std::string> warnings;         // sentences
  std::optional<Knobs> current;              // the user's own setting, where the preset can read it
  std::set<std::string> current_names;       // knobs that it was read of; the others are guesses
  std::vector<std::string> turnable;         // knobs that the preset can turn, asked for or not
  bool trains = true;                        // as far as a preset knows: it has a learning rate
  std::vector<Axis> offered;  // of its own, worth a look here; their first value is as it is
  int gpus = 0;               // that the command may use; 0: CPUs
  // The command evaluates and saves every so many steps, 0: unknown how many, and a trial can
  // rehearse it.
  std::optional<int> evaluation_steps;
  std::string preset_tried;               // versions of the program that the preset was tried with
  std::vector<std::string> preset_flags;  // that the preset has put into the command
  std::string recognised;                 // preset that fits the command where none is named
  std::vector<std::string> recognised_knobs;                   // that it would turn by flags
  std::optional<int> print_interval;                           // steps between two log lines
  std::function<std::optional<Refusal>(const Knobs&)> refuse;  // may be empty
};

// Decides which knobs are turned by what a command says of itself (current, current_names,
// turnable, offered): sets knobs, fixed, present and as_typed of `looked.workload`, before any of
// them is worked in.
using KnobChoice = std::function<Status(PreparedCommand& looked)>;

}  // namespace ocrtune
