// What became of a trial, from what was seen of it: a pure function.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"
#include "base/process_tree.h"
#include "trial/ipc/events.h"
#include "trial/latency_histogram.h"
#include "trial/observe/oom_watch.h"
#include "trial/trial.h"

namespace ocrtune {

enum class StopCause {
  none,          // the processes ended by themselves
  measured,      // the stopping rule was satisfied
  hung,          // silence
  timed_out,     // TrialLimits::max_seconds
  memory_limit,  // the tree was about to pass TrialLimits::memory_limit_bytes
  host_memory,   // the machine was about to run out
  interrupted,   // Ctrl-C
  refused,       // the setting was not really in force: other CPUs, fewer threads
  not_loaded,    // nor the allocator
  no_metric,     // what a user command prints will never hold a number
  exhausted,     // no process, descriptor or memory to spare for its start
};

// Why a trial is ended.
struct TrialStop {
  StopCause cause = StopCause::none;
  std::string reason;  // in words
};

struct RankExit {
  int rank = 0;
  ProcessExit exit;
};

struct TrialFacts {
  StopCause stop = StopCause::none;
  std::string stop_reason;         // in words
  std::vector<ErrorEvent> errors;  // said before the stop, in order
  std::vector<RankExit> exits;     // seen before the stop, in order
  std::string broken_event;        // the first line on an event pipe that was no event
  OomVerdict oom;
  bool kill_told = false;        // its log tells of a process that SIGKILL ended
  int windows = 0;               // closed measuring windows
  int min_windows = 3;           // that make a measurement
  bool user_command = false;     // the user's command: it may end by itself, with 0
  std::string left_running;      // processes that live on after the command itself: "python3 (123)"
  int http_port = 0;             // where a command that told no speed answers HTTP; 0: nowhere
  std::string no_metric_reason;  // why a user command gave no number; empty: it gave some
};

// Sets outcome, cause and reason, and adds to evidence. Cause is one of:
//   out_of_memory  limit | host | cgroup | shm | process | gpu
//   crashed        signal | exit | peer | protocol | ended | no_metric | server | error, or the
//   worker's own;
//                  resources: it could not be started for lack of processes, descriptors or memory
//   hung, timed_out, wrong_result, unsupported: as the reporter said, or empty
void judge_trial(const TrialFacts& facts, Trial& trial);

// With how it ended, for the diagnosis of a trial that failed.
FailureEvidence with_end(const TrialFacts& facts, FailureEvidence counters);

// Processes that have not ended: "python3 (123), sleep (124)".
std::string living_words(const std::vector<ProcessFacts>& processes);

// Whether the last lines of a trial tell of a process that SIGKILL ended, or that is gone without a
// word of its own: a launcher's exit codes, PyTorch's and Paddle's complaints about their workers.
bool tells_of_kill(const std::string& log_tail);

StepLatency step_latency(const LatencyHistogram& steps);  // of every measured step

}  // namespace ocrtune
