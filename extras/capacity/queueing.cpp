// A heap of the times at which servers become free is the whole state; requests are taken in their
// order. Service times of measured batches stand in a table, one row a batch size, so that a draw
// is one look-up.
#include "extras/capacity/queueing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <queue>
#include <utility>

#include "base/check.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

// The least idle rate that counts as "one at a time": arrivals this far apart never meet.
constexpr double kIdleShare = 1e-4;

struct Batch {
  double start = 0;
  std::size_t end = 0;  // one past its last request
};

// The batch that a server free at `free_at` starts with request `first` at its head.
Batch next_batch(const QueueModel& model, const std::vector<double>& arrivals, std::size_t first,
                 double free_at) {
  const std::size_t most = std::min(arrivals.size(), first + static_cast<std::size_t>(model.batch));
  double start = std::max(free_at, arrivals[first]);
  if (model.linger_seconds > 0) {
    const double full_at = arrivals[most - 1];
    // A server waits for its batch to fill, and no longer than it lingers.
    start = std::max(start, std::min(arrivals[first] + model.linger_seconds, full_at));
  }
  std::size_t end = first + 1;
  while (end < most && arrivals[end] <= start) ++end;
  return {start, end};
}

}  // namespace

double QueueModel::share_among(int in_service) const {
  if (servers <= 1) return 1;
  const double others = std::min(in_service, servers) - 1.0;
  return alone_share + (1 - alone_share) * others / (servers - 1);
}

int InService::at(double start) {
  while (!finishes_.empty() && finishes_.top() <= start) finishes_.pop();
  return static_cast<int>(finishes_.size());
}

ServiceDraw exponential_service(double mean_seconds) {
  return [mean_seconds](Random& random, int) { return random.exponential(1 / mean_seconds); };
}

ServiceDraw fixed_service(double seconds) {
  return [seconds](Random&, int) { return seconds; };
}

ServiceDraw measured_service(const ServiceTimes& times) {
  OCRTUNE_CHECK(!times.empty());
  // Draws of every batch size, so that one costs two look-ups.
  const std::size_t draws = times.front().seconds.size();
  std::vector<double> table;
  std::size_t after = 0;  // the first measured batch of this size or above
  for (int requests = 1; requests <= times.back().requests; ++requests) {
    if (times[after].requests < requests) ++after;
    const BatchTimes& high = times[after];
    const BatchTimes& low = times[after > 0 ? after - 1 : 0];
    OCRTUNE_CHECK(low.seconds.size() == draws && high.seconds.size() == draws);
    const int width = high.requests - low.requests;
    const double share = width > 0 ? static_cast<double>(requests - low.requests) / width : 0;
    for (std::size_t i = 0; i < draws; ++i) {
      table.push_back(low.seconds[i] + share * (high.seconds[i] - low.seconds[i]));
    }
  }
  const int most = times.back().requests;
  return [table = std::make_shared<const std::vector<double>>(std::move(table)), draws, most](
             Random& random, int requests) {
    const auto row = static_cast<std::size_t>(std::min(requests, most) - 1) * draws;
    return (*table)[row + static_cast<std::size_t>(
                              random.integer(0, static_cast<std::int64_t>(draws) - 1))];
  };
}

QueueRun simulate_queue(const QueueModel& model, const std::vector<double>& arrivals,
                        std::uint64_t seed) {
  OCRTUNE_CHECK(model.servers > 0 && model.batch > 0);
  Random random(mix_bits(~seed));  // never the stream that drew the arrivals
  QueueRun run;
  run.latency_seconds.resize(arrivals.size());
  if (arrivals.empty()) return run;
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < model.servers; ++i) free_at.push(arrivals.front());
  double busy = 0;
  double last_finish = arrivals.front();
  double batches = 0;
  double waits = 0;
  InService in_service;
  for (std::size_t first = 0; first < arrivals.size();) {
    const Batch batch = next_batch(model, arrivals, first, free_at.top());
    free_at.pop();
    const double share =
        model.alone_share < 1 ? model.share_among(in_service.at(batch.start) + 1) : 1;
    const double service =
        share * model.service(random, static_cast<int>(batch.end - first)) / model.speed;
    const double finish = batch.start + service;
    // The heap of ends costs time: only a server that slows with company needs it.
    if (model.alone_share < 1) in_service.add(finish);
    for (std::size_t i = first; i < batch.end; ++i) {
      run.latency_seconds[i] = finish - arrivals[i];
      waits += batch.start - arrivals[i];
    }
    free_at.push(finish);
    busy += service;
    batches += 1;
    last_finish = std::max(last_finish, finish);
    first = batch.end;
  }
  const auto count = static_cast<double>(arrivals.size());
  const double span = last_finish - arrivals.front();
  run.busy_share = span > 0 ? busy / (span * model.servers) : 0;
  run.mean_batch = count / batches;
  run.mean_wait_seconds = waits / count;
  return run;
}

double latency_quantile(const QueueRun& run, double percentile, double skipped_share) {
  const auto skipped =
      static_cast<std::size_t>(skipped_share * static_cast<double>(run.latency_seconds.size()));
  std::vector<double> kept(run.latency_seconds.begin() + static_cast<std::ptrdiff_t>(skipped),
                           run.latency_seconds.end());
  if (kept.empty()) return 0;
  const auto place = std::min(
      kept.size() - 1, static_cast<std::size_t>(percentile * static_cast<double>(kept.size())));
  const auto at = kept.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(kept.begin(), at, kept.end());
  return *at;
}

double saturated_rate(const QueueModel& model, std::uint64_t seed, int draws) {
  Random random(seed);
  double seconds = 0;
  for (int i = 0; i < draws; ++i) seconds += model.service(random, model.batch);
  return seconds > 0 ? draws / seconds * model.batch * model.servers * model.speed : 0;
}

QueueRun simulate_pages(const QueueModel& model, const std::vector<double>& arrivals,
                        const std::vector<int>& requests_per_page, std::uint64_t seed) {
  if (requests_per_page.empty()) return simulate_queue(model, arrivals, seed);
  Random random(mix_bits(seed + 1));
  const auto last = static_cast<std::int64_t>(requests_per_page.size()) - 1;
  std::vector<double> requests;
  std::vector<std::size_t> ends;  // of each page, in `requests`
  for (const double at : arrivals) {
    requests.insert(requests.end(),
                    static_cast<std::size_t>(
                        requests_per_page[static_cast<std::size_t>(random.integer(0, last))]),
                    at);
    ends.push_back(requests.size());
  }
  QueueRun run = simulate_queue(model, requests, seed);
  std::vector<double> pages;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const auto first = run.latency_seconds.begin();
    pages.push_back(*std::max_element(first + static_cast<std::ptrdiff_t>(begin),
                                      first + static_cast<std::ptrdiff_t>(end)));
    begin = end;
  }
  run.latency_seconds = std::move(pages);
  return run;
}

double mean_requests(const std::vector<int>& requests_per_page) {
  if (requests_per_page.empty()) return 1;
  double sum = 0;
  for (const int requests : requests_per_page) sum += requests;
  return sum / static_cast<double>(requests_per_page.size());
}

double highest_rate(const QueueModel& model, const LatencySlo& slo, std::uint64_t seed,
                    int requests, const std::vector<int>& requests_per_page) {
  const double each = mean_requests(requests_per_page);
  const auto pages = std::max<std::size_t>(static_cast<std::size_t>(requests / each), 2000);
  const auto unit = take_arrivals(Arrivals::poisson(1, mix_bits(seed)), pages);
  const auto keeps = [&](double rate) {
    std::vector<double> arrivals = unit;
    for (double& at : arrivals) at /= rate;
    return latency_quantile(simulate_pages(model, arrivals, requests_per_page, seed),
                            slo.percentile) <= slo.seconds;
  };
  double high = saturated_rate(model, seed) / each;
  double low = high * kIdleShare;
  if (high <= 0 || !keeps(low)) return 0;
  while (high / low > 1.002) {
    // Halving in the ratio, once both ends are of one size.
    const double middle = high / low > 4 ? (high + low) / 2 : std::sqrt(high * low);
    (keeps(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace ocrtune
