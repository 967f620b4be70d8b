// What the load generator itself costs, and whether it measures the truth in real time.
//
//   build/capacity_load_generator [seconds]

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stats.h"
#include "bench/synthetic/function_target.h"
#include "bench/synthetic/simulated_server.h"
#include "trial/workloads/service/load_generator.h"

namespace {

using namespace ocrtune;

// Answers at once: what is left is the generator.
class NullTarget final : public LoadTarget {
 public:
  void start(std::uint64_t request, int) override { waiting_.push_back(request); }
  void collect(double, std::vector<Completion>& finished) override {
    const double now = steady_clock().now_seconds();
    for (const std::uint64_t request : waiting_) finished.push_back({request, now, true});
    waiting_.clear();
  }

 private:
  std::vector<std::uint64_t> waiting_;
};

void print_speed(const char* name, LoadTarget& target, double rate, double seconds) {
  LoadPlan plan;
  plan.max_seconds = seconds;
  plan.slo = LatencySlo{0.99, 0.05};
  plan.stop_when_decided = false;
  const double before = thread_cpu_seconds();
  const LoadResult result = run_load(target, steady_clock(), Arrivals::poisson(rate, 1), plan);
  const double spent = thread_cpu_seconds() - before;
  std::printf("| %s | %.2f M/s | %.2f M/s | %.0f ns | %.3f ms | %.3f ms |\n", name, rate / 1e6,
              result.completed_rate / 1e6, 1e9 * spent / static_cast<double>(result.issued),
              1e3 * result.latency.quantile(0.5), 1e3 * result.latency.quantile(0.99));
}

// Remembers when the load began: the first time that is asked for.
class LoadClock final : public Clock {
 public:
  double now_seconds() override {
    const double now = steady_clock().now_seconds();
    if (start_ < 0) start_ = now;
    return now;
  }
  void sleep_seconds(double seconds) override { steady_clock().sleep_seconds(seconds); }
  double start_seconds() const { return start_; }

 private:
  std::atomic<double> start_ = -1;
};

// A scripted server in real time: one thread that sleeps until the time at which the request would
// be done by the schedule alone, so its true latency is known without a clock.
void print_truth(const char* name, double service, double rate, double stall, double seconds) {
  std::vector<double> finish;
  Arrivals schedule = Arrivals::poisson(rate, 1);
  std::vector<double> truth;
  double free_at = 0;
  bool stalled = false;
  while (true) {
    const double at = schedule.next();
    if (at >= seconds) break;
    free_at = std::max(at, free_at) + service;
    if (!stalled && stall > 0 && at > seconds / 2) {
      free_at += stall;
      stalled = true;
    }
    finish.push_back(free_at);
    truth.push_back(free_at - at);
  }
  LoadClock clock;
  FunctionTarget target({1, 1}, [&](const std::vector<WaitingRequest>& batch, int) {
    const double until =
        clock.start_seconds() + finish[std::min<std::size_t>(batch[0].number, finish.size() - 1)];
    const double left = until - steady_clock().now_seconds();
    if (left > 2e-4) steady_clock().sleep_seconds(left - 1e-4);
    while (steady_clock().now_seconds() < until) {
    }
    return std::string();
  });
  LoadPlan plan;
  plan.max_seconds = seconds;
  plan.max_requests = static_cast<std::int64_t>(truth.size());
  const LoadResult result = run_load(target, clock, Arrivals::poisson(rate, 1), plan);
  for (const double p : {0.5, 0.99}) {
    const double exact = quantile(truth, p);
    const double measured = result.latency.quantile(p);
    std::printf("| %s | p%.0f | %.3f ms | %.3f ms | %+.2f %% |\n", name, 100 * p, 1e3 * exact,
                1e3 * measured, 100 * (measured / exact - 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  std::printf(
      "| null backend | offered | answered | generator's CPU per request | p50 | p99 |\n"
      "|--|--|--|--|--|--|\n");
  NullTarget null;
  for (const double rate : {1e6, 4e6, 16e6}) print_speed("answers at once", null, rate, seconds);
  FunctionTarget threaded({1, 1},
                          [](const std::vector<WaitingRequest>&, int) { return std::string(); });
  for (const double rate : {1e6, 2e6, 4e6}) print_speed("one more thread", threaded, rate, seconds);
  std::printf("\n| scripted server, real time | | truth | measured | error |\n|--|--|--|--|--|\n");
  print_truth("2 ms at 300/s", 0.002, 300, 0, seconds);
  print_truth("2 ms at 300/s, stalls 200 ms once", 0.002, 300, 0.2, seconds);
  return 0;
}
