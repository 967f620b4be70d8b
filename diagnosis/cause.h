// One suspect of a diagnosis, with what speaks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/causes.h"
#include "diagnosis/context/tracebacks.h"
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

// The `file` of evidence that is the exit code itself.
inline constexpr const char* kProcessEnd = "process end";

// The `file` of evidence that is a reason and no line: "SIGKILL may also come from a person".
inline constexpr const char* kReason = "reason";

struct EvidenceLine {
  std::string file;       // or kProcessEnd, kReason, "counters"
  std::int64_t line = 0;  // 0: not from a file
  std::string text;
  std::int64_t count = 1;  // lines of its kind
  RaisedAt raised{};       // of an exception below a traceback
};

// Somebody or something that lines name: {"GPU", "0000:b1:00"}, {"model", "det_db"}.
struct Named {
  std::string kind, name;
};

struct Cause {
  const CauseRow* row = nullptr;
  double confidence = 0;  // 0..1: that this is what ended the run
  Role role = Role::generic;
  std::vector<EvidenceLine> evidence;  // the strongest first
  std::vector<std::string> signatures;
  std::vector<std::string> fixes;  // diagnosis/advice.h
  std::string confirm{};           // what would settle it, to type or to look at
  bool follows = false;            // another cause produces every line that speaks for it
  std::string first{};             // to do before all, so that nothing is lost; may be empty
  std::string not_worth{};         // trying; may be empty
  std::vector<Named> who{};        // of the first cause (diagnosis/who.h)
};

// What an event of a story says; each has its arguments among the fields of StoryEvent.
enum class StoryCode {
  failed,     // ranks or place, cause, text
  died,       // ranks, text: how; what a launcher saw first
  reported,   // place (a kernel, a scheduler) says cause, text
  busy,       // ranks or place, text: what it did alone
  silent,     // ranks or place, text: the last line of the rank that did not give up
  waited,     // ranks or place, text: the operation, seconds
  lost_peer,  // ranks or place
  never_met,  // ranks or place
  stopped,    // ranks or place; cause kLauncher or empty, text: the sender's PID, if known
  ended,      // text: the exit code
};

inline constexpr const char* kLauncher = "launcher";

struct StoryEvent {
  StoryCode code = StoryCode::failed;
  std::optional<double> when;  // seconds into the year
  bool exact = false;          // else: of the last dated line before
  std::vector<int> ranks;      // empty: `place`
  std::string place;           // the file, or files
  std::string cause;
  std::string text;
  std::optional<double> seconds;
  std::string raised_at{};  // "data/lines.py:31", of an exception below a traceback
};

// Two suspects and the command that tells them apart; what its outcomes mean is in
// reports/console/diagnosis_words.cpp under `code`.
struct NextStep {
  const char* code;
  const char* first;   // causes
  const char* second;  //
  const char* command;
  bool open_for_first = false;   // worth its while where the first leads, though no line speaks for
  bool open_for_second = false;  // the second; and the other way round
};

}  // namespace ocrtune
