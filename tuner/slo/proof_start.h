// The rate at which the proof of a latency SLO begins.
//
// A search sees each rate for a short time, and the highest of many that kept the SLO did so by
// luck as often as not. So a proof begins a margin below the lowest rate that was seen to break the
// SLO, and below what a queue would keep that answers as much at most, and takes as long for one
// request alone, as this server does; a queue that breaks it at rates that were kept is not like
// the server. It is only where to begin: what is claimed is proved.
#pragma once

#include <vector>

#include "trial/load_point.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

// The highest rate of Poisson arrivals at which a queue keeps the SLO; a request that is turned
// away counts as late. 0: none.
double queue_rate(const LatencySlo& slo, const ServerQueue& queue);

// What a server resembles that these closed loads were measured on. No slots: they do not show it.
ServerQueue server_queue(const std::vector<LoadPoint>& loads);

// `loads` of each trial of the setting, `claimed` by the search. Without `poisson` arrivals (a
// trace) no queue is asked, and `claimed` stands in its place.
RateToProve proof_start(const std::vector<std::vector<LoadPoint>>& trials, const LatencySlo& slo,
                        double claimed, bool poisson);

// What a proof takes at most, and the share of a run's budget that it may have.
double full_proof_seconds(const LatencySlo& slo);
inline constexpr double kProofShare = 0.4;

}  // namespace ocrtune
