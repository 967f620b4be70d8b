// Latencies by the million in 90 KB: buckets of 0.4 % of their value, from 1 ns to 4.8 hours.
//
// Log-linear: 256 buckets to every doubling, found from the bits of a double, so that adding takes
// a few nanoseconds and never allocates.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

class LatencyHistogram {
 public:
  LatencyHistogram();

  // So many alike; beyond the range: counted in the first or last bucket.
  void add(double seconds, std::int64_t count = 1);
  void add(const LatencyHistogram& other);

  std::int64_t count() const { return count_; }
  // The latency that a share p of them does not exceed, within 0.2 %; 0 when empty.
  double quantile(double p) const;
  std::int64_t count_over(double seconds) const;       // slower than this, within a bucket
  double max_seconds() const { return max_seconds_; }  // exact
  double mean_seconds() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0;
  double max_seconds_ = 0;
  double sum_ = 0;
};

}  // namespace ocrtune
