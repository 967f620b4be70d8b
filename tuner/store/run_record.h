// One run as the store keeps it: what was asked, on which machine, and every trial.
//
// The verdict is not stored: it is computed from the trials whenever it is shown
// (tuner/verdict/recommend.h), so the raw numbers stay the only truth.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/trial.h"
#include "tuner/job/job.h"
#include "tuner/recommendation.h"

namespace ocrtune {

inline constexpr const char* kSoakPhase = "soak";            // of RunRecord::soaks
inline constexpr const char* kRehearsalPhase = "rehearsal";  // of RunRecord::rehearsals
inline constexpr const char* kColdPhase = "cold";            // of RunRecord::cold
inline constexpr const char* kLearningPhase = "learning";    // of RunRecord::learning

struct RunRecord {
  std::string id;                               // "2026-11-21-a3f9": date and a short random part
  std::string name;                             // that the user gave it; empty: none
  std::string started;                          // UTC, ISO 8601
  std::string command_line;                     // as typed
  std::string state = "running";                // running | done | interrupted | failed
  std::string stop_reason;                      // why the search ended, in words
  std::map<std::string, std::string> versions;  // "ocrtune" -> "0.1.0", "oneDNN" -> "2.6.3", ...
  Job job;
  SearchRequest search;
  Machine machine;
  std::vector<Trial> trials;  // in the order in which they ran
  // Of settings that won: an evaluation and a checkpoint within the trial. Their rates are no
  // trial's rates.
  std::vector<Trial> rehearsals;
  std::vector<Trial> soaks;  // of settings that won, at full load for longer (tuner/verdict/soak.h)
  std::vector<Trial> cold;   // of settings that won, with their files out of memory at the start
  std::vector<Trial> learning;  // that show what a sample of another recipe is worth
  TuneResult result;            // empty as loaded; filled by judge()
};

std::string new_run_id();

// usage: not 1 to 64 letters, digits, '.', '_' and '-', with a letter first; or "last".
Status check_run_name(const std::string& name);

}  // namespace ocrtune
