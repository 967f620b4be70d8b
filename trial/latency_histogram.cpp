// The upper 8 bits of a double's mantissa and its exponent are the bucket's number: one shift finds
// it. A double grows with its bit pattern, so the buckets are in order.
#include "trial/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace ocrtune {
namespace {

constexpr int kSubBits = 8;  // 256 buckets to a doubling
constexpr int kDoublings = 44;
constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(1.0) >> (52 - kSubBits);
constexpr std::size_t kBuckets = static_cast<std::size_t>(kDoublings) << kSubBits;

std::size_t bucket_of(double seconds) {
  // Below a nanosecond, and for NaN, the first bucket.
  const double nanoseconds = std::max(seconds * 1e9, 1.0);  // NaN becomes 1
  const std::uint64_t place = std::bit_cast<std::uint64_t>(nanoseconds) >> (52 - kSubBits);
  return std::min(static_cast<std::size_t>(place - kFirst), kBuckets - 1);
}

double lower_edge(std::size_t bucket) {
  return std::bit_cast<double>((bucket + kFirst) << (52 - kSubBits)) * 1e-9;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(kBuckets, 0) {}

void LatencyHistogram::add(double seconds, std::int64_t count) {
  buckets_[bucket_of(seconds)] += count;
  count_ += count;
  sum_ += seconds * static_cast<double>(count);
  max_seconds_ = std::max(max_seconds_, seconds);
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_seconds_ = std::max(max_seconds_, other.max_seconds_);
  sum_ += other.sum_;
}

double LatencyHistogram::quantile(double p) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  // The largest latency is kept exactly.
  if (rank >= count_) return max_seconds_;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(max_seconds_, (lower_edge(i) + lower_edge(i + 1)) / 2);
  }
  return max_seconds_;
}

std::int64_t LatencyHistogram::count_over(double seconds) const {
  std::int64_t over = 0;
  for (std::size_t i = bucket_of(seconds) + 1; i < kBuckets; ++i) over += buckets_[i];
  return over;
}

}  // namespace ocrtune
