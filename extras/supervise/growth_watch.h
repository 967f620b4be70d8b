// What may run full during a long run: memory, /dev/shm, open files, GPU memory. Each has its own
// trace, slope and limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/failure_evidence.h"
#include "extras/supervise/supervised_attempt.h"
#include "tuner/verdict/growth.h"

namespace ocrtune {

class GrowthWatch {
 public:
  // `memory_limit_bytes` 0: what the machine has left decides. `planned_seconds` of the whole run;
  // 0: unknown, then the next 24 h count.
  GrowthWatch(std::uint64_t memory_limit_bytes, double planned_seconds);

  struct Warning {
    std::string subject;
    std::string words;
    double seconds_left = 0;
  };
  // Those that meet their limit within the planned time, the nearest first.
  std::vector<Warning> look(const AttemptStatus& status);

  const std::optional<GrowthEvidence>& memory() const { return memory_; }
  const std::vector<TracePoint>& memory_trace() const { return traces_[0].points(); }

 private:
  struct Watched;
  double memory_limit_, planned_seconds_;
  std::vector<GrowthTrace> traces_;
  std::optional<GrowthEvidence> memory_;
};

}  // namespace ocrtune
