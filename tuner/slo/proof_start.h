// The rate at which the proof of a latency SLO begins.
//
// A search sees each rate for a short time, and the highest of many that kept the SLO did so by
// luck as often as not. So a proof begins a margin below the lowest rate that was seen to break the
// SLO, and below what a queue would keep that answers as much at most, and takes as long for one
// request alone, as this server does. It is only where to begin: what is claimed is proved.
#pragma once

#include <vector>

#include "trial/load_point.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

// The highest rate of Poisson arrivals at which a queue with so many slots keeps the SLO; a request
// that finds them all taken waits, or is turned away (`sheds`), which counts as late. 0: none.
double queue_rate(const LatencySlo& slo, int slots, double service_seconds, bool sheds);

// The same for a server that these closed loads were measured on. 0: they do not show it.
double queue_rate(const LatencySlo& slo, const std::vector<LoadPoint>& loads);

// `loads` of each trial of the setting, `claimed` by the search. Without `poisson` arrivals (a
// trace) no queue is asked, and `claimed` stands in its place.
double proof_start(const std::vector<std::vector<LoadPoint>>& trials, const LatencySlo& slo,
                   double claimed, bool poisson);

}  // namespace ocrtune
