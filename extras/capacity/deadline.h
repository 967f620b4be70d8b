// A job with a deadline: when it is due, and how interruptions stretch the time that it takes.
//
// An attempt runs until a machine of the job is taken back or fails. What was done since the last
// checkpoint is done again, and the next attempt steps only after a restart. Interruptions come at
// a constant rate in each machine's time, restarts included, and know nothing of each other.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/result.h"

namespace ocrtune {

struct Deadline {
  double seconds = 0;  // from now
  std::string by;      // "2026-11-27 18:00", local time; empty: it was given as a duration
};

// "24h"; "18:00", "Fri 18:00": the next such time after `now_unix`; "2026-11-27 18:00".
// usage: none of these, or a day that is past.
Result<Deadline> parse_deadline(const std::string& text, std::int64_t now_unix);

struct Interruptions {
  double watched_seconds = 0;  // of one machine; 0: no interruptions are expected
  double seen = 1;             // in that time
  bool counted = false;        // else the mean time between two is known to be watched_seconds
  double restart_seconds = 0;  // from one until the job steps again; 0: as long as its start
  double checkpoint_every_seconds = 0;  // of the job's work; 0: none is written
  double checkpoint_seconds = 0;        // that the job waits for each

  bool expected() const { return watched_seconds > 0; }
  double per_second() const { return expected() ? seen / watched_seconds : 0; }  // of one machine
};

// "8h": known to come every 8 hours of a machine; "3/200h": 3 were seen in 200 machine hours.
Status parse_interruptions(const std::string& text, Interruptions& into);
// "15m", or with what each takes "15m:20s".
Status parse_checkpoints(const std::string& text, Interruptions& into);

// A rate per second of one machine that fits what was seen: itself where it is known, else a draw
// from the gamma distribution of seen + 1/2 (Jeffreys' prior).
double draw_interruptions(const Interruptions& interruptions, Random& random);

struct Finish {
  double seconds = 0;  // infinite: beyond the limit
  double interruptions = 0;
};

// One draw of the time until `work_seconds` of undisturbed work are done and the last of it is
// kept, with interruptions at so many per second. `limit_seconds` bounds the search.
Finish draw_finish(double work_seconds, double start_seconds, double per_second,
                   const Interruptions& interruptions, double limit_seconds, Random& random);

}  // namespace ocrtune
