// A service as a queue: processes that take requests from one line, simulated request by request.
//
// M/G/n with the measured service times, or any recorded arrivals; a process may take up to `batch`
// waiting requests at once. First come, first served: every idle process is as good as another, so
// the earliest free one takes the head of the line (Kiefer and Wolfowitz, 1955). Deterministic by
// seed; about 50 ns a request.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/random.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

// Draws the seconds that one process needs for `requests` at once.
using ServiceDraw = std::function<double(Random& random, int requests)>;

ServiceDraw exponential_service(double mean_seconds);  // of each batch, whatever its size
ServiceDraw fixed_service(double seconds);

// What one process needs for a batch of so many: seconds that are equally likely, ascending.
struct BatchTimes {
  int requests = 1;
  std::vector<double> seconds;
};

// Measured batches, ascending, not empty. A batch between two of them takes a time between theirs;
// one below the first or above the last takes as long as that.
using ServiceTimes = std::vector<BatchTimes>;

ServiceDraw measured_service(const ServiceTimes& times);

struct QueueModel {
  int servers = 1;
  int batch = 1;              // requests that one server takes at once, at most
  double linger_seconds = 0;  // how long the first of a batch waits to fill
  ServiceDraw service;
  double speed = 1;  // divides the seconds of each service
  // With nobody else in service a request takes this share of `service`, which is that of busy
  // servers; in between as much more as others are in service.
  double alone_share = 1;

  double share_among(int in_service) const;  // itself included
};

// What is in service when the next request begins; requests begin in order.
class InService {
 public:
  int at(double start);  // how many, once those that ended by then are gone
  void add(double finish) { finishes_.push(finish); }

 private:
  std::priority_queue<double, std::vector<double>, std::greater<>> finishes_;
};

struct QueueRun {
  std::vector<double> latency_seconds;  // in order of arrival; waiting and service
  double busy_share = 0;                // of the servers' time
  double mean_batch = 0;
  double mean_wait_seconds = 0;
};

// `arrivals` in seconds, ascending.
QueueRun simulate_queue(const QueueModel& model, const std::vector<double>& arrivals,
                        std::uint64_t seed);

// The latency that a share `percentile` of the requests stays under, without the first ones.
double latency_quantile(const QueueRun& run, double percentile, double skipped_share = 0.1);

// Pages: each arrival stands for so many requests at once, drawn from `requests_per_page` (empty:
// one each), and is answered with the last of them. `arrivals` are those of pages, and so are the
// latencies.
QueueRun simulate_pages(const QueueModel& model, const std::vector<double>& arrivals,
                        const std::vector<int>& requests_per_page, std::uint64_t seed);

// Requests per second that the servers can do when the line never empties, from `draws` services.
double saturated_rate(const QueueModel& model, std::uint64_t seed, int draws = 2000);

double mean_requests(const std::vector<int>& requests_per_page);  // 1 where it is empty

// The highest Poisson rate of pages (without `requests_per_page`: of requests) that meets the
// latency target, to 0.2 %; 0 when even a single one at a time violates it. Every rate sees the
// same random numbers, so noise does not hide the order of rates. `requests` bounds how many are
// simulated.
double highest_rate(const QueueModel& model, const LatencySlo& slo, std::uint64_t seed,
                    int requests = 200000, const std::vector<int>& requests_per_page = {});

}  // namespace ocrtune
