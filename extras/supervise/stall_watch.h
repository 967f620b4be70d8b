// Progress that has stopped although the processes live, and which rank holds the others up.
//
// A collective that never completes shows as ranks that spin (NCCL, gloo with busy polling) or
// sleep while no step ends. The rank whose CPU time differs from all others since the last step is
// the one they wait for. Pure: told of progress and of CPU times, asked for a verdict.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ocrtune {

struct Stall {
  double seconds = 0;        // since the last progress
  double usual_seconds = 0;  // median time between two
  int ranks = 0;             // that live; below 2 it is no matter of communication
  std::string words;
};

class StallWatch {
 public:
  // A stall is `min_seconds` without progress, or 20 times the usual time if that is longer.
  explicit StallWatch(double min_seconds = 60) : min_seconds_(min_seconds) {}

  void progress(double now_seconds);
  // `cpu_seconds`: of each local rank so far, its own children included. Empty: no stall, or fewer
  // than five steps seen.
  std::optional<Stall> look(double now_seconds, const std::map<int, double>& cpu_seconds);

 private:
  double min_seconds_;
  double last_ = -1;
  std::vector<double> gaps_;  // the last 64
  std::size_t next_ = 0;
  std::map<int, double> cpu_then_;  // at the first look after the last progress
  double looked_ = -1;              // when that was
};

}  // namespace ocrtune
