// A server in scripted time: the same requests give the same answers on every machine.
//
// n processes take requests first come, first served, with service times drawn by seed; it may
// stall once, refuse a share, turn requests away, end under load, or block its caller as a
// synchronous client would. For tests and for benchmarks of the load generator and the search,
// which know its true capacity.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

struct SimulatedService {
  int servers = 1;
  std::function<double(Random& random, int kind)> service_seconds;
  double stall_at_seconds = -1;   // when every process stops; below 0: never
  double stall_seconds = 0;       // for how long
  double failed_share = 0;        // of the requests
  double wait_seconds = 0;        // no answer comes earlier after its request
  double connect_seconds = 0;     // more of a request that has more beside it than there ever were
  int max_in_flight = 0;          // one more is turned away at once; 0: none is
  double max_rate = 0;            // what comes faster is turned away at once; 0: no limit
  int ends_at = 0;                // it ends with so many in flight; 0: never
  double end_unseen_seconds = 0;  // its connections break so much earlier than it is seen gone
  bool blocks_caller = false;     // start() returns only when the answer is there
  std::uint64_t seed = 1;
};

class SimulatedServer final : public LoadTarget {
 public:
  explicit SimulatedServer(SimulatedService service);

  Clock& clock() { return clock_; }

  void start(std::uint64_t request, int kind) override;
  void collect(double until_seconds, std::vector<Completion>& finished) override;
  std::string failure() const override;
  std::string ended() const override { return clock_.now_seconds() < end_seen_at_ ? "" : ended_; }
  void restart();  // after its end: nothing is under way

  // When work of this length, begun at `start`, is done: what falls into the stall waits it out.
  double finish_of(double start_seconds, double service_seconds) const;

 private:
  class ScriptedClock final : public Clock {
   public:
    double now_seconds() override { return now_; }
    double now_seconds() const { return now_; }
    void sleep_seconds(double seconds) override { now_ += seconds; }
    void move_to(double seconds) { now_ = seconds > now_ ? seconds : now_; }

   private:
    double now_ = 0;
  };

  struct Later {
    bool operator()(const Completion& a, const Completion& b) const {
      return a.finished_seconds > b.finished_seconds;
    }
  };

  SimulatedService service_;
  ScriptedClock clock_;
  Random random_;
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at_;
  std::priority_queue<Completion, std::vector<Completion>, Later> running_;
  bool failed_ = false;
  std::size_t connections_ = 0;  // the most in flight so far
  double next_allowed_ = 0;      // by the limit of the rate
  std::string ended_;
  double end_seen_at_ = 0;

  void end_all();
};

}  // namespace ocrtune
