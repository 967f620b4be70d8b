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

// "p99=50ms", "p99.9=1.5s". usage: another text; a time without a unit, which may mean either.
Result<LatencySlo> parse_slo(std::string_view text);
std::string slo_target(const LatencySlo& slo);  // "p99 under 50 ms"
Reason slo_reason(const LatencySlo& slo);
std::string milliseconds_text(double seconds);  // "8.57", "8570": three digits or whole

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
// when there are many. Where it is known which requests should have been an event by their arrivals
// (trial/workloads/service/server_queue.h), only what these do not explain is left to chance.
inline constexpr std::int64_t kFewestEvents = 10;

class BlockCounts {
 public:
  void add(bool event, bool expected = false);
  std::int64_t events() const { return events_; }
  std::int64_t requests() const { return requests_; }
  std::int64_t surprises() const { return surprises_; }  // requests that were not as expected
  double expected_share() const;
  // Of the events over a long time, of which `expected_share` of the requests should be one.
  double share(double expected_share) const;
  // 1 while there are fewer than `kFewestEvents` surprises or 16 blocks to judge by.
  double design_effect(double expected_share) const;
  // Squared correlation of each request's event with what was expected of it; 1 where all came as
  // expected.
  double explained() const;

 private:
  struct Block {
    double events = 0, expected = 0;
  };
  double weight() const;  // of what was expected, by the regression of the events on it
  double effect_of(const std::vector<Block>& blocks, double block_requests, double share) const;
  static void halve(std::vector<Block>& blocks);

  std::vector<Block> blocks_;  // full ones
  std::int64_t block_requests_ = 16;
  std::int64_t open_requests_ = 0;
  Block open_;
  std::int64_t events_ = 0, expected_ = 0, both_ = 0, surprises_ = 0;
  std::int64_t requests_ = 0;
};

}  // namespace ocrtune
