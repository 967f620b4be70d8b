// Why a run died: logs, exit code and kernel evidence weighed into ranked causes.
//
// A pure function over what was read. The rules: the earliest root cause beats everything that
// follows from it; a witness of another process's death counts only if no root cause is found;
// errors after which training went on count little; SIGKILL means memory before anything else, and
// counters that stood still take that back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/failure_evidence.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

// What was given, where no failure is found in it.
enum class Given {
  run,      // something of a run
  nothing,  // empty files
  no_run,   // text or bytes that tell of no run
};

struct Diagnosis {
  bool failed = false;  // a failure with a confidence of at least kMinConfidence
  Given given = Given::run;
  std::vector<Cause> causes;  // best first; slowness after failures, or behind a limit of time
  std::vector<std::string> notes;
  std::vector<StoryEvent> story;           // of several ranks; may be empty
  std::vector<NextStep> next_steps;        // what would settle it between the first suspects
  std::vector<EvidenceLine> consequences;  // lines of the clean-up, named so nobody blames them
};

inline constexpr double kMinConfidence = 0.25;

Diagnosis diagnose(const std::vector<LogScan>& logs, const FailureEvidence& evidence);

// The same over one piece of text, such as the last lines of a trial.
Diagnosis diagnose_text(std::string_view text, const FailureEvidence& evidence = {});

// What to do about the cause that ended what printed `text`: by the lines that show it or, where
// none does, as of a signal, what is true of everybody. Empty: there is no cause of this name.
std::vector<std::string> fixes_of(std::string_view cause, std::string_view text);

}  // namespace ocrtune
