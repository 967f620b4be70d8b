// What a load generator sends requests to: a function, an HTTP endpoint, a command - or, in tests,
// a scripted server in scripted time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ocrtune {

inline constexpr std::size_t kMaxAnswerBytes = 64 << 20;  // a longer answer is a failure

struct Completion {
  std::uint64_t request = 0;
  double finished_seconds = 0;  // on the clock that the load runs on
  bool ok = true;               // false: refused, reset, wrong - never counts as in time
  bool refused = false;         // not ok, but turned away: the target has too much to do already
};

// Where the time of jobs went that are submitted and asked for later.
struct JobTimes {
  std::int64_t jobs = 0;     // whose result is there
  double queue_seconds = 0;  // sum, until a poll saw them started; 0: the server does not say
  double total_seconds = 0;  // sum, from the POST to the result
  double poll_seconds = 0;   // between two polls: a result is noticed so late at most
};

class LoadTarget {
 public:
  virtual ~LoadTarget() = default;
  // Begins a request and returns at once. `kind` says which of the target's inputs to send.
  virtual void start(std::uint64_t request, int kind) = 0;
  // Appends what has finished since the last call; waits for the first, at most until
  // `until_seconds`, which may lie in the past. Each request finishes once, in any order.
  virtual void collect(double until_seconds, std::vector<Completion>& finished) = 0;
  // Why the last failed request failed, in one line; empty when none did.
  virtual std::string failure() const { return {}; }
  // How the target's own program ended, if it has; nothing is measured any more then.
  virtual std::string ended() const { return {}; }
  virtual JobTimes job_times() const { return {}; }
};

}  // namespace ocrtune
