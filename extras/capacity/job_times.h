// How long a job with a deadline takes on so many machines: part of capacity/capacity.h.
//
// Machines that train wait for each other, by the fit over measured counts; one that is interrupted
// stops all. Machines that read share nothing: each goes through a shard of its own, as many pages
// as the others have, taken at random. The job ends with the last of them: the slowest machine, the
// shard of the largest pages, or the one that was interrupted most.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/stats.h"
#include "extras/capacity/deadline.h"
#include "extras/capacity/node_measurement.h"
#include "tuner/verdict/scaling.h"

namespace ocrtune {

struct TimedJob {
  double samples = 0;  // as the node's rates count them
  double deadline_seconds = 0;
  Interruptions interruptions;
  double confidence = 0.9;  // two-sided, of every interval
  bool trains = true;       // else it reads
  double page_spread = 0;   // relative standard deviation of one page's time; of a job that reads
};

struct JobRow {
  Interval samples_per_second;
  Interval seconds;         // infinite: no end in sight
  double tail_seconds = 0;  // from the mean machine's end to the last one's; of a job that reads
  double interruptions = 0;
  double lost_share = 0;   // of the median time
  double probability = 0;  // of being done in time
};

class JobTimes {
 public:
  // `draws`: of one machine's rate. `fit` is of a training. `node` outlives this.
  JobTimes(const NodeMeasurement& node, TimedJob job, std::vector<double> draws, ScalingFit fit);

  // The least machines that are done in time in this share of the draws; else most + 1.
  int machines_for(double share, int most);
  JobRow row(int machines);

 private:
  struct Finishes {
    std::vector<double> seconds;  // ascending
    double interruptions = 0;     // mean
    double tail_seconds = 0;      // mean
  };

  std::vector<double> rates(int machines) const;
  const Finishes& finishes(int machines);
  void train(int machines, Finishes& all) const;
  void read(int machines, Finishes& all) const;

  const NodeMeasurement& node_;
  TimedJob job_;
  std::vector<double> draws_;
  ScalingFit fit_;
  std::map<int, Finishes> finishes_;
};

}  // namespace ocrtune
