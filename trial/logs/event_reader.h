// Reads the events that ocrtune's own ranks print where mpirun or srun started them: all ranks of a
// job in one output.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trial/ipc/events.h"

namespace ocrtune {

class EventReader {
 public:
  explicit EventReader(int ranks) : ranks_(ranks) {}

  // Rank 0's steps stand for the job's: the samples of all ranks, and the mean of their times.
  // Once, a note of each host says what its steps took, and an event which one the others wait for.
  void read_line(const std::string& line, std::vector<Event>& events);
  std::int64_t known_lines() const { return known_lines_; }

 private:
  struct HostTimes {
    StepTimes sum;
    double reports = 0;
  };
  void on_step(const StepEvent& step, std::vector<Event>& events);
  void split(std::vector<Event>& events) const;

  int ranks_;
  std::map<int, std::string> hosts_;        // of each rank
  std::map<int, StepTimes> latest_;         // of each rank
  std::map<std::string, HostTimes> times_;  // of each host
  std::int64_t known_lines_ = 0, reports_ = 0;
};

}  // namespace ocrtune
