// How throughput grows with processes: the Universal Scalability Law, with what it does not know.
//
// X(n) = gamma n / (1 + sigma (n - 1) + kappa n (n - 1)): gamma is one process alone, sigma the
// share that waits for something shared, kappa what each pair of processes costs the other
// (coherence). Source: N. Gunther, Guerrilla Capacity Planning, 2007, chapters 4 to 6.
//
// The fit minimises relative errors (residuals of logarithms, Huber's loss) by Levenberg-Marquardt
// with gamma > 0, 0 <= sigma <= 1, kappa >= 0 and a weak prior (sigma about 0 +- 0.2, kappa about 0
// +- 0.02), which decides only what the points leave open. The draws are a parametric bootstrap:
// points, prior centre and noise level are drawn anew and fitted again (randomised maximum
// likelihood), so a parameter that the points do not determine keeps its full spread instead of
// looking certain.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/stats.h"

namespace ocrtune {

// One count of processes, measured. Rates are of all processes together, one for each repeat.
struct ScalingPoint {
  int processes = 1;
  int threads = 1;  // of each process; the same in all points of one fit
  std::vector<double> samples_per_second;
};

struct UslCurve {
  double gamma = 0;  // samples per second of one process
  double sigma = 0;  // contention, 0..1
  double kappa = 0;  // coherence, at least 0

  double at(double processes) const;
};

struct ScalingFit {
  UslCurve curve;
  std::vector<UslCurve> draws;  // the bootstrap
  double noise = 0;  // relative deviation of a point from the curve, shrunk to 2 % when few
  int max_processes = 0;
  double confidence = 0;  // of the rates that are predicted
};

struct ScalingOptions {
  double confidence = 0.9;
  int rounds = 400;
  std::uint64_t seed = 1;
};

// Points of one count are merged. Refuses (kind invalid) when no point has a rate above zero; one
// or two counts give a fit whose intervals say how little is known. About 5 ms.
Result<ScalingFit> fit_scaling(const std::vector<ScalingPoint>& points,
                               const ScalingOptions& options = {});

// The rate that a measurement at `processes` would show: curve, its draws and the noise of a point.
Interval predict_rate(const ScalingFit& fit, double processes);

// Merged by process count, ascending, without rates that are zero, negative or not finite.
std::vector<ScalingPoint> merge_points(const std::vector<ScalingPoint>& points);

}  // namespace ocrtune
