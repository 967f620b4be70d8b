// The share of late requests against the rate: nearly a line in its logarithm close to the edge.
//
// Exact for M/M/1, whose time in the system is exponential; for other queues the tail is
// asymptotically so. Only used to choose the next rate to try; what is claimed is measured.
#pragma once

#include <vector>

namespace ocrtune {

struct LateShare {
  double rate = 0;
  double share = 0;     // of requests over the limit
  double requests = 0;  // independent ones: judged / design effect
};

struct LateShareLine {
  bool known = false;
  double log_share = 0;  // at `rate`
  double rate = 0;
  double slope = 0;  // of log share per request/s, above 0

  double rate_of(double share) const;
};

// Weighted by what each share is worth (late requests counted, at most 500: a far point must not
// outweigh the near ones). Unknown with fewer than two rates that had late requests, or when the
// share does not grow.
LateShareLine fit_late_share(const std::vector<LateShare>& seen);

// The largest share that `requests` independent requests will most probably (84 %) prove to be
// below `allowed` at this confidence.
double provable_share(double allowed, double requests, double confidence);

}  // namespace ocrtune
