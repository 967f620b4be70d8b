// A closed load shows what one request takes and what the server does at most. A queue with as many
// slots is asked at which rate it keeps the SLO. The median of the trials' queues begins the proof.
#include "tuner/slo/proof_start.h"

#include <algorithm>
#include <cmath>

#include "trial/workloads/service/server_queue.h"

namespace ocrtune {
namespace {

constexpr double kMargin = 0.92;  // of the lowest rate that may break the SLO; by simulation
constexpr double kUnlike = 0.8;   // of a kept rate: a queue that keeps less is not like the server
constexpr double kSlack = 0.1;    // of a slot, that noise may add
constexpr int kMostSlots = 4096;
// The spread is taken for log-normal: ln(p95 / p50) is 1.645 deviations.
constexpr double kQuantile = 1.645;  // of a normal distribution, at p95
constexpr double kNearMost = 0.8;    // of the highest rate of a step
constexpr double kEqual = 0.05;      // a smaller spread is noise of the clock
constexpr int kRequests = 100000;    // of a simulation
constexpr int kHalvings = 10;

// Of a proof: multiples of the SLO's time, for the warm-up and for each request of a clean one; by
// simulation, a queue at 0.9 of its capacity needs five times what one without late requests does.
constexpr double kWarmUpLimits = 20, kProofLimits = 4.5;
constexpr double kProofConfidence = 0.99;
constexpr double kLeastSeconds = 12;

}  // namespace

double queue_rate(const LatencySlo& slo, const ServerQueue& queue) {
  if (queue.slots <= 0) return 0;
  double low = 0, high = queue.slots / queue.service_seconds;
  // To a thousandth of the queue's capacity.
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const bool keeps = queued_share(queue, slo, middle, kRequests).late <= 1 - slo.percentile;
    (keeps ? low : high) = middle;
  }
  return low;
}

// What it answers at most: of the steps that come near the highest rate, which is that of the
// luckiest of them, all together.
double max_answered(const std::vector<LoadPoint>& loads) {
  double most = 0, requests = 0, seconds = 0;
  for (const LoadPoint& one : loads) {
    if (one.in_flight > 0 && one.late == 0) most = std::max(most, one.requests_per_second);
  }
  for (const LoadPoint& one : loads) {
    if (one.in_flight <= 0 || one.late > 0 || one.requests_per_second < kNearMost * most) continue;
    const auto count = static_cast<double>(std::max<std::int64_t>(one.requests, 1));
    requests += count;
    seconds += count / one.requests_per_second;
  }
  return seconds > 0 ? requests / seconds : 0;
}

ServerQueue server_queue(const std::vector<LoadPoint>& loads) {
  const double most = max_answered(loads);
  double alone = 0, spread = 0;
  int answered = 0, refused = 0;  // in flight
  for (const LoadPoint& one : loads) {
    if (one.in_flight <= 0) continue;
    if (one.late > 0) {
      refused = refused == 0 ? one.in_flight : std::min(refused, one.in_flight);
      continue;
    }
    if (one.in_flight == 1 && one.p50_seconds > 0) {
      spread = std::log(std::max(1.0, one.p95_seconds / one.p50_seconds)) / kQuantile;
      if (spread < kEqual) spread = 0;
      // The mean of a log-normal distribution, from its median.
      alone = one.p50_seconds * std::exp(spread * spread / 2);
    }
    answered = std::max(answered, one.in_flight);
  }
  if (alone <= 0 || most <= 0) return {};
  // It turns requests away instead of letting them wait: the slots are as many as were answered.
  if (refused > answered) return {answered, alone, spread, true};
  const int slots = std::clamp(static_cast<int>(std::ceil(most * alone - kSlack)), 1, kMostSlots);
  return {slots, slots / most, spread, false};
}

RateToProve proof_start(const std::vector<std::vector<LoadPoint>>& trials, const LatencySlo& slo,
                        double claimed, bool poisson) {
  double broken = 0;
  std::vector<RateToProve> queues;
  for (const std::vector<LoadPoint>& loads : trials) {
    double kept = 0;
    for (const LoadPoint& one : loads) {
      const double rate = one.requests_per_second;
      if (one.verdict == "kept") kept = std::max(kept, rate);
      if (one.verdict == "broken") broken = broken > 0 ? std::min(broken, rate) : rate;
    }
    const ServerQueue queue = poisson ? server_queue(loads) : ServerQueue();
    const double rate = queue_rate(slo, queue);
    if (rate > kUnlike * kept) queues.push_back({rate, queue});
  }
  std::sort(queues.begin(), queues.end(), [](const RateToProve& a, const RateToProve& b) {
    return a.requests_per_second < b.requests_per_second;
  });
  RateToProve start = queues.empty() ? RateToProve{claimed, {}} : queues[(queues.size() - 1) / 2];
  if (broken > 0) start.requests_per_second = std::min(start.requests_per_second, broken);
  start.requests_per_second *= kMargin;
  return start;
}

double full_proof_seconds(const LatencySlo& slo) {
  const auto clean = static_cast<double>(min_requests(slo.percentile, kProofConfidence));
  return std::max(kLeastSeconds, (kWarmUpLimits + kProofLimits * clean) * slo.seconds);
}

}  // namespace ocrtune
