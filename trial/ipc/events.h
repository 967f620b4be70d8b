// What a measured process tells its parent: one JSON object a line on OCRTUNE_EVENT_FD.
//
// A user command's lines become the same events through a log reader (trial/logs/log_reader.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "base/result.h"
#include "trial/trial.h"

namespace ocrtune {

inline constexpr const char* kEventDescriptorVariable = "OCRTUNE_EVENT_FD";
// Of a user command: a path, to be opened by each process that calls ocrtune.step().
inline constexpr const char* kEventPathVariable = "OCRTUNE_EVENT_PATH";

struct HelloEvent {
  int rank = 0, world_size = 1;
  int pid = 0;
  std::string cpus;   // really allowed: "0-3"
  int team_size = 0;  // threads that an OpenMP region really got
  std::map<std::string, std::string> versions;
  std::uint64_t planned_bytes = 0;  // Trainer::footprint_bytes; 0: unknown
  std::string gpu;                  // UUID of the GPU that it computes on, by CUDA; empty: none
  std::string host{};               // that it runs on
};

struct ReadyEvent {  // result check and warm-up passed
  int rank = 0;
  double check_error = 0;  // against the reference
  bool anew = false;       // of a log reader: what was measured before is void
};

// One step, or several short ones together: a line for each 1-ms step would disturb what it
// reports.
struct StepEvent {
  int rank = 0;
  std::int64_t steps = 1;
  std::int64_t samples = 0;  // of this rank in these steps
  double seconds = 0;        // of these steps
  StepTimes times;           // mean of one step
  double loss = 0;           // mean of these steps, as far as it is known
  double part_square = 0;    // as in LearningPoint, mean of these steps
  double whole_square = 0;
};

struct DoneEvent {
  int rank = 0;
  std::int64_t steps = 0;
  std::int64_t bad_samples = 0;
};

struct ErrorEvent {
  int rank = 0;
  Outcome outcome = Outcome::crashed;
  std::string cause;  // as in Trial::cause
  std::string reason;
};

// As in Trial::cause: "process", "gpu", "shm".
std::string scarce_name(Scarce scarce);

// Memory of the rank's GPU at this moment.
struct MemoryEvent {
  int rank = 0;
  std::uint64_t bytes = 0;        // of this process
  std::uint64_t total_bytes = 0;  // that the GPU has
  std::string source;             // "NVML", "cudaMemGetInfo"
};

// A line for the trial's evidence, and a sign of life; of an empty text the latter alone.
struct NoteEvent {
  int rank = 0;
  std::string text;
};

// Of a job over hosts: the one that the others wait for.
struct SlowHostEvent {
  int rank = 0;
  SlowHost host;
};

// What the load generator found; a later one replaces it.
struct ServiceEvent {
  int rank = 0;
  ServiceFacts facts;
  double start_seconds = 0;  // of the server until its first answer; 0: it ran already
};

// The answers of a service beside those of the present setting.
struct AnswersEvent {
  int rank = 0;
  SameResult same;
};

// The measured process judged for itself: the trial ends with this rate.
struct ResultEvent {
  int rank = 0;
  double samples_per_second = 0;
  double seconds = 0;        // that it was measured
  std::int64_t samples = 0;  // in that time
  std::string text;          // how it was found, for the evidence
};

using Event = std::variant<HelloEvent, ReadyEvent, StepEvent, DoneEvent, ErrorEvent, NoteEvent,
                           ResultEvent, MemoryEvent, SlowHostEvent, ServiceEvent, AnswersEvent>;

std::string event_line(const Event& event);          // with its newline
Result<Event> parse_event(const std::string& line);  // invalid: quotes the line's start

}  // namespace ocrtune
