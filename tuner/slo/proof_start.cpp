#include "tuner/slo/proof_start.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "base/random.h"
#include "base/stats.h"

namespace ocrtune {
namespace {

constexpr double kMargin = 0.92;  // of the lowest rate that may break the SLO; by simulation
constexpr double kSlack = 0.1;    // of a slot, that noise may add
constexpr int kMostSlots = 4096;
constexpr int kRequests = 20000;  // of a simulation; the first tenth fills the queue
constexpr int kHalvings = 10;

double late_share(const LatencySlo& slo, double rate, int slots, double service_seconds,
                  bool sheds) {
  Random random(1);
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < slots; ++i) free_at.push(0);
  double now = 0;
  int late = 0;
  for (int i = 0; i < kRequests; ++i) {
    now += random.exponential(rate);
    const bool counts = i >= kRequests / 10;
    if (sheds && free_at.top() > now) {
      late += counts ? 1 : 0;
      continue;
    }
    const double end = std::max(now, free_at.top()) + service_seconds;
    free_at.pop();
    free_at.push(end);
    late += counts && end - now > slo.seconds ? 1 : 0;
  }
  return late / (0.9 * kRequests);
}

}  // namespace

double queue_rate(const LatencySlo& slo, int slots, double service_seconds, bool sheds) {
  double low = 0, high = slots / service_seconds;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const bool keeps = late_share(slo, middle, slots, service_seconds, sheds) <= 1 - slo.percentile;
    (keeps ? low : high) = middle;
  }
  return low;
}

double queue_rate(const LatencySlo& slo, const std::vector<LoadPoint>& loads) {
  double alone = 0, most = 0;
  int answered = 0, refused = 0;  // in flight
  for (const LoadPoint& one : loads) {
    if (one.in_flight <= 0) continue;
    if (one.late > 0) {
      refused = refused == 0 ? one.in_flight : std::min(refused, one.in_flight);
      continue;
    }
    if (one.in_flight == 1) alone = one.p50_seconds;
    most = std::max(most, one.requests_per_second);
    answered = std::max(answered, one.in_flight);
  }
  if (alone <= 0 || most <= 0) return 0;
  if (refused > answered) return queue_rate(slo, answered, alone, true);
  const int slots = std::clamp(static_cast<int>(std::ceil(most * alone - kSlack)), 1, kMostSlots);
  return queue_rate(slo, slots, slots / most, false);
}

double proof_start(const std::vector<std::vector<LoadPoint>>& trials, const LatencySlo& slo,
                   double claimed, bool poisson) {
  double broken = 0;
  std::vector<double> queues;
  for (const std::vector<LoadPoint>& loads : trials) {
    for (const LoadPoint& one : loads) {
      const double rate = one.requests_per_second;
      if (one.verdict == "broken") broken = broken > 0 ? std::min(broken, rate) : rate;
    }
    const double rate = poisson ? queue_rate(slo, loads) : 0;
    if (rate > 0) queues.push_back(rate);
  }
  const double queue = queues.empty() ? claimed : median(queues);
  return kMargin * (broken > 0 ? std::min(queue, broken) : queue);
}

}  // namespace ocrtune
