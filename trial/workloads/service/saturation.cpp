#include "trial/workloads/service/saturation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocrtune {
namespace {

constexpr double kMinSeconds = 2;
constexpr double kGrowthShare = 0.02;
constexpr double kGrowthStddevs = 5;
constexpr std::size_t kMaxPoints = 512;

}  // namespace

void SaturationWatch::observe(double seconds, std::int64_t issued, std::int64_t completed) {
  if (!points_.empty() && seconds - points_.back().seconds < min_gap_seconds_) return;
  points_.push_back({seconds, issued, completed});
  if (points_.size() < kMaxPoints) return;
  std::deque<Point> thinned;
  for (std::size_t i = 0; i < points_.size(); i += 2) thinned.push_back(points_[i]);
  points_.swap(thinned);
  min_gap_seconds_ = (points_.back().seconds - points_.front().seconds) / (kMaxPoints / 2.0);
}

SaturationWatch::Point SaturationWatch::at(double seconds) const {
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), seconds,
                       [](double value, const Point& point) { return value < point.seconds; });
  return after == points_.begin() ? points_.front() : *std::prev(after);
}

bool SaturationWatch::saturated() const {
  if (points_.empty()) return false;
  const double first = points_.front().seconds;
  const double span = points_.back().seconds - first;
  if (span < kMinSeconds) return false;
  Point from = at(first + span / 2);
  const Point half = from;
  for (int quarter = 1; quarter <= 4; ++quarter) {
    const Point to = at(first + span / 2 + span / 8 * quarter);
    const auto sent = static_cast<double>(to.issued - from.issued);
    const double grown = sent - static_cast<double>(to.completed - from.completed);
    if (grown <= kGrowthShare * sent || grown <= 0) return false;
    from = to;
  }
  const auto sent = static_cast<double>(from.issued - half.issued);
  const double grown = sent - static_cast<double>(from.completed - half.completed);
  return grown > kGrowthStddevs * std::sqrt(sent);
}

}  // namespace ocrtune
