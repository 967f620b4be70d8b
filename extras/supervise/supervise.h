// A run kept alive: attempt, diagnosis, next safer setting, again from the last checkpoint.
//
// The loop starts nothing itself: an attempt is a function, so that tests script it. Failures in a
// row are bounded; an attempt that saved a state further on than all before it starts the count
// anew. What once was started and cannot be started again is a failure like any other. A state that
// cannot be loaded is passed over for the one before it. A cause that a restart cannot cure ends it
// at once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "diagnosis/diagnosis.h"
#include "extras/supervise/journal.h"
#include "extras/supervise/safer_setting.h"
#include "extras/supervise/supervised_attempt.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {

struct SuperviseOptions {
  LaunchSetting setting;           // filled anew for each attempt
  Machine machine;                 // for the setting's binding and {gpus}
  TrialPlace place;                // any_host() on several; folder and port are each attempt's
  std::string run_directory;       // attempt-N.log, attempt-N.csv, evidence.json, journal.jsonl
  std::string checkpoint;          // file, prefix or folder; empty: start from the beginning
  std::string resume_argument;     // appended once there is a checkpoint
  std::vector<std::string> logs;   // further logs or folders of them, such as the launcher's
  int max_failures = 5;            // in a row without getting further; at least 1
  double pause_seconds = 1;        // before a restart; doubles up to 5 min
  double stop_grace_seconds = 10;  // between SIGTERM and SIGKILL
  double silence_seconds = 0;
  double stall_seconds = 0;      // no step for so long: stopped and diagnosed; 0: only warned of
  double warning_seconds = 600;  // between two warnings of one kind
  std::uint64_t memory_limit_bytes = 0;
  double planned_seconds = 0;  // of the whole run; 0: unknown
  int oom_score_adjust = 300;  // of the command
};

struct AttemptSummary {
  std::vector<std::string> command;
  std::string ending;  // "exit code 0", "killed by SIGKILL", "interrupted", ...
  double seconds = 0;
  std::uint64_t peak_bytes = 0;
  std::int64_t progress_lines = 0;
  std::string cause;  // of the diagnosis; empty when it went well
  double confidence = 0;
  std::string evidence;               // its first line
  std::string change;                 // what the next attempt does differently
  std::map<int, std::string> places;  // local rank -> the CPUs that it had
  std::vector<TracePoint> memory;     // of the tree over the attempt's seconds
  std::vector<std::string> warnings;  // "12 min: memory grows by ..."
  std::vector<HeldBack> held;         // what held it back, by the last look
};

enum class SuperviseState { done, gave_up, interrupted };

struct SuperviseEnd {
  SuperviseState state = SuperviseState::done;
  std::string reason;  // why it gave up, in words
  std::vector<AttemptSummary> attempts;
  Diagnosis diagnosis;  // of the last failure of a command that was started
  int warnings = 0;
};

struct SuperviseListeners {
  std::function<void(const AttemptStatus&, const std::string& forecast)> on_status;
  std::function<void(const std::string& line)> on_note;  // started, warning, failed, restarting
  std::function<void(const HeldBack&)> on_held;          // what holds it back, where that is news
};

using AttemptRunner =
    std::function<Result<AttemptEnd>(const AttemptPlan&, const AttemptListeners&)>;

// Errors: the first attempt cannot be started, or the run folder cannot be written.
Result<SuperviseEnd> supervise(const SuperviseOptions& options, const AttemptRunner& attempt,
                               const SuperviseListeners& listeners, Clock& clock);

}  // namespace ocrtune
