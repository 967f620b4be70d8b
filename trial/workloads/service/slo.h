// A latency SLO ("p99=50ms") and when enough requests were seen to believe it.
//
// A percentile is a claim about a share of requests, so it is a binomial test: the SLO is met
// when so few requests over the limit would be unlikely if more than 1 - p of all were over it.
// Without any request over the limit, p99 at 99 % confidence takes 459 requests, p95 90, p90 44.
// The same rule stops MLPerf LoadGen's server runs early.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trial/reason.h"

namespace ocrtune {

struct LatencySlo {
  double percentile = 0.99;  // share of requests that must be answered ...
  double seconds = 0.05;     // ... within this time, counted from the intended start
};

Result<LatencySlo> parse_slo(std::string_view text);  // "p99=50ms", "p99.9=1.5s"
std::string slo_target(const LatencySlo& slo);        // "p99 under 50 ms"
Reason slo_reason(const LatencySlo& slo);
std::string milliseconds_text(double seconds);  // "8.57", "8570": three digits or whole

// P(X <= successes) for X ~ Binomial(trials, share); trials and successes need not be whole.
double binomial_at_most(double successes, double trials, double share);

// The fewest requests that prove the percentile at this confidence with `over` of them too late.
std::int64_t min_requests(double percentile, double confidence, std::int64_t over = 0);

enum class SloVerdict { met, violated, undecided };

// `over` of `requests` were too late; `design_effect` requests count as one (at least 1).
SloVerdict judge_slo(const LatencySlo& slo, double requests, double over, double confidence,
                     double design_effect = 1);

// An event counted in blocks of consecutive requests, because those of one run are not independent:
// a queue that is long stays long, so late requests come in clusters. The design effect (Kish,
// Survey Sampling, 1965: the variance of a clustered share over that of an independent one) divides
// the number of requests before a test believes them. Memory stays bounded: blocks double in length
// when there are many.
inline constexpr std::int64_t kFewestEvents = 10;

class BlockCounts {
 public:
  void add(bool event);
  std::int64_t events() const { return events_; }
  std::int64_t requests() const { return requests_; }
  // 1 while there are fewer than `kFewestEvents` or 16 blocks to judge by.
  double design_effect() const;

 private:
  void halve();

  std::vector<std::int64_t> blocks_;  // events in each full block
  std::int64_t block_requests_ = 16;
  std::int64_t open_requests_ = 0;
  std::int64_t open_events_ = 0;
  std::int64_t events_ = 0;
  std::int64_t requests_ = 0;
};

}  // namespace ocrtune
