// Requests in flight by number, and the fate of each in the order of their intended start.
//
// A request is over when it fails, when its answer comes after the SLO's time, or when that time
// has passed without an answer. Fates are counted in order of intended start and only up to the
// first that is still open: counting answers as they come counts the quick ones first.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trial/workloads/service/server_queue.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

class RequestLedger {
 public:
  // Requests intended before `count_from_seconds` have no fate. Without an SLO only failures are
  // over. Fates are expected by the queue, where it is known.
  RequestLedger(const std::optional<LatencySlo>& slo, double count_from_seconds,
                const ServerQueue& queue = {});

  struct Request {
    double intended_seconds = 0;
    int kind = 0;
    bool counted = false;  // intended at count_from_seconds or later
  };

  std::uint64_t start(double intended_seconds, int kind);  // gives its number: 0, 1, 2, ...
  // Nothing for a number that was not started or is already finished.
  std::optional<Request> finish(std::uint64_t number, double finished_seconds, bool ok);
  void settle(double now_seconds);  // counts every fate that is known by now

  std::int64_t started() const { return static_cast<std::int64_t>(next_); }
  std::int64_t unanswered() const { return started() - finished_; }
  std::int64_t judged() const { return over_.requests(); }
  std::int64_t over() const { return over_.events(); }
  bool clusters_seen() const { return over_.surprises() >= kFewestEvents; }
  // Of late requests over a long time, where the queue has `queued_share` of them.
  double late_share(double queued_share) const { return over_.share(queued_share); }
  // The larger one of late requests and of those past half the limit (of what it leaves to wait,
  // where the service is known), which show the clusters of a queue before anything is late. What
  // the queue does not explain comes in clusters like its own.
  double design_effect(double queued_share, double queued_effect) const;

 private:
  enum class Fate : std::uint8_t { open, in_time, half_over, over };

  struct Slot {
    double intended_seconds = 0;
    std::int32_t kind = 0;
    Fate fate = Fate::open;
    bool finished = false;
    Fate expected = Fate::in_time;
  };

  Fate fate_of(double latency_seconds) const;

  Slot& slot(std::uint64_t number) { return slots_[number & (slots_.size() - 1)]; }
  void grow();
  void drop_settled();

  double limit_seconds_ = std::numeric_limits<double>::infinity();
  double half_seconds_ = limit_seconds_;
  double count_from_seconds_ = 0;
  std::optional<QueuedRequests> queue_;
  std::vector<Slot> slots_;         // a ring; its size is a power of two
  std::uint64_t oldest_ = 0;        // in the ring
  std::uint64_t judged_up_to_ = 0;  // fates before this are counted
  std::uint64_t next_ = 0;
  std::int64_t finished_ = 0;
  BlockCounts over_;
  BlockCounts half_over_;
};

}  // namespace ocrtune
