// How many consecutive requests count as one: an event counted in blocks of requests.
//
// Requests of one run are not independent: a queue that is long stays long, so late requests come
// in clusters. The design effect (Kish, Survey Sampling, 1965: the variance of a clustered share
// over that of an independent one) divides the number of requests before a test believes them.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

// Memory stays bounded: blocks double in length when there are many.
class BlockCounts {
 public:
  void add(bool event);
  std::int64_t events() const { return events_; }
  std::int64_t requests() const { return requests_; }
  // 1 while there are fewer than 10 events or 16 blocks to judge by.
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
