// The steps that several processes of one job report, each on its own clock, as the job's.
#pragma once

#include <map>
#include <optional>

#include "trial/ipc/events.h"
#include "trial/logs/log_dialects.h"

namespace ocrtune {

class StepProcesses {
 public:
  // The rank of an event is its process's id: a launcher's ranks, copies, or one process. One
  // process's steps are the job's clock, and the rates of all that report are added up; a process
  // that falls silent no longer counts, the clock included. Empty: a report of another process.
  std::optional<LogReading> add(const StepEvent& step, double now_seconds);

 private:
  struct Share {
    double samples = 0, seconds = 0;  // since the clock's last report
    double rate = 0;                  // until then
    double heard = 0, longest = 0;    // when it reported last, and of how long at most
    bool silent_at(double now_seconds) const;
  };
  std::optional<int> clock_;  // the process whose steps count
  std::map<int, Share> shares_;
};

}  // namespace ocrtune
