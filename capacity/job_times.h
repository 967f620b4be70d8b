// How long a job with a deadline takes on so many machines: part of capacity/capacity.h.
//
// Machines that train wait for each other, by the fit over measured counts; one that is interrupted
// stops all. Machines that read share nothing, and another reads on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/stats.h"
#include "capacity/deadline.h"
#include "capacity/node_measurement.h"
#include "tuner/verdict/scaling.h"

namespace ocrtune {

struct Job {
  double samples = 0;  // as the node's rates count them
  double deadline_seconds = 0;
  Interruptions interruptions;
  double confidence = 0.9;  // two-sided, of every interval
};

struct JobRow {
  Interval samples_per_second;
  Interval seconds;  // infinite: no end in sight
  double interruptions = 0;
  double lost_share = 0;   // of the median time
  double probability = 0;  // of being done in time
};

class JobTimes {
 public:
  // `draws`: of one machine's rate. `fit` is of a training. `node` outlives this.
  JobTimes(const NodeMeasurement& node, Job job, std::vector<double> draws, ScalingFit fit);

  // The least machines that are done in time in this share of the draws; else most + 1.
  int machines_for(double share, int most);
  JobRow row(int machines);

 private:
  struct Finishes {
    std::vector<double> seconds;  // ascending
    double interruptions = 0;     // mean
  };

  std::vector<double> rates(int machines) const;
  const Finishes& finishes(int machines);

  const NodeMeasurement& node_;
  Job job_;
  std::vector<double> draws_;
  ScalingFit fit_;
  bool trains_;
  std::map<int, Finishes> finishes_;
};

// What is taken of interruptions, each a sentence. `machines`: the count that is advised.
std::vector<std::string> interruption_notes(const NodeMeasurement& node, const Interruptions& stops,
                                            double machines);

}  // namespace ocrtune
