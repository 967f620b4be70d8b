// Two looks of different cost run on their own clocks, and each pays for itself: the next one comes
// after so many times the CPU time of the last. Single threads come from the counters of the
// windows, states from the looks.
#include "trial/stages/stage_meter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/clock.h"

namespace ocrtune {
namespace {

constexpr double kPause = 0.1;        // seconds between looks at the threads' states
constexpr double kCountPause = 1;     // and at the processes' counters
constexpr double kCostShare = 300;    // of a pause to the CPU time of the look before it
constexpr double kGlanceShare = 500;  // the same of glances
constexpr double kGlancePause = 0.01;
constexpr double kSaturated = 0.85;  // of a window, from which a thread is never idle for long
constexpr double kBusy = 0.05;       // of the time, from which a thread's CPUs count
constexpr double kBusyWindow = 0.3;  // CPUs, from which a window's CPU time measures its work
constexpr std::size_t kFewest = 6;   // windows that rates of thirds are taken of

double mean(std::vector<double>::const_iterator from, std::vector<double>::const_iterator to) {
  return std::accumulate(from, to, 0.0) /
         static_cast<double>(std::max<std::ptrdiff_t>(1, to - from));
}

}  // namespace

void StageMeter::begin(double now, const std::vector<ProcessFacts>& members, int left_out,
                       Environment given) {
  *this = StageMeter();
  counters_ = TreeCounters(FileRoot(), std::move(given));
  begun_ = true;
  left_out_ = left_out;
  look(now, members);
}

std::vector<ProcessFacts> StageMeter::seen_of(const std::vector<ProcessFacts>& members) const {
  std::vector<ProcessFacts> seen = members;
  std::erase_if(seen, [&](const ProcessFacts& process) { return process.pid == left_out_; });
  return seen;
}

void StageMeter::look(double now, const std::vector<ProcessFacts>& members) {
  if (begun_) glance(now);
  if (!begun_ || now < next_look_) return;
  const double begin = thread_cpu_seconds();
  const std::vector<ProcessFacts> seen = seen_of(members);
  // The threads' states first, as often as is allowed.
  looks_.look(now, seen);
  if (now >= next_count_) {
    counters_.look(now, seen);
    next_count_ = now + kCountPause;
  }
  const double cost = thread_cpu_seconds() - begin + std::exchange(glanced_, 0);
  next_look_ = now + std::max(kPause, kCostShare * cost);
}

void StageMeter::glance(double now) {
  if (now < next_glance_) return;
  const double begin = thread_cpu_seconds();
  counters_.glance();
  const double cost = thread_cpu_seconds() - begin;
  glanced_ += cost;
  next_glance_ = now + std::max(kGlancePause, kGlanceShare * cost);
}

void StageMeter::add_window(const LoadSnapshot& before, const LoadSnapshot& after) {
  const double wall = after.seconds - before.seconds;
  if (!begun_ || !(wall > 0) || !after.has_thread_times) return;
  seconds_ += wall;
  starts_ += after.brief.starts;
  for (const auto& [thread, now] : after.threads) {
    const auto found = before.threads.find(thread);
    const ThreadCounters then = found == before.threads.end() ? ThreadCounters() : found->second;
    ThreadTime& time = threads_[thread];
    time.run_seconds += std::max(0.0, now.run_seconds - then.run_seconds);
    time.wait_seconds += std::max(0.0, now.wait_seconds - then.wait_seconds);
    if (now.allowed != nullptr) allowed_[thread] = now.allowed;
  }
}

void StageMeter::fill_threads(StageUse& use) const {
  if (!(seconds_ > 0)) return;
  CpuSet allowed;
  int busiest = 0;
  for (const auto& [thread, time] : threads_) {
    // Threads of the process that is left out were never looked at, so they have no name.
    if (left_out_ != 0 && looks_.process_of(thread).empty()) continue;
    const double share = busy_share(time.run_seconds, time.wait_seconds);
    use.saturated_threads += share >= kSaturated ? 1 : 0;
    const auto mask = allowed_.find(thread);
    if (share >= kBusy && mask != allowed_.end()) allowed = allowed.unite(*mask->second);
    if (share <= use.busiest_thread_share) continue;
    busiest = thread;
    use.busiest_thread_share = share;
    use.busiest_thread_cpus = std::min(1.0, time.run_seconds / seconds_);
  }
  use.allowed_cpus = allowed.count();
  use.allowed_list = allowed.text();
  use.busiest_thread = looks_.name_of(busiest);
  use.busiest_process = looks_.process_of(busiest);
}

// Of the time that it did not wait for a CPU: what it would be busy for if it had one to itself. A
// thread that sleeps between short runs waits for a CPU at each of them where others compute.
double StageMeter::busy_share(double run_seconds, double wait_seconds) const {
  const double rest = std::max(run_seconds, seconds_ - wait_seconds);
  return rest > 0 ? std::min(1.0, run_seconds / rest) : 0;
}

StageUse StageMeter::use(const std::vector<Sample>& samples) const {
  StageUse use;
  add_windows(samples, use);
  if (!begun_) return use;
  use.observed_seconds = seconds_;
  if (seconds_ > 0) use.starts_per_second = starts_ / seconds_;
  looks_.fill(use);
  counters_.fill(use);
  fill_threads(use);
  return use;
}

std::vector<double> steady_rates(const std::vector<Sample>& samples) {
  std::vector<double> clean, by_cpu;
  double cpus = 0, seconds = 0;
  for (const Sample& sample : samples) {
    if (sample.clean()) clean.push_back(sample.samples_per_second());
    const Interference& seen = sample.interference;
    if (!(seen.observed_seconds > 0) || seen.cpu_seconds < kBusyWindow * seen.observed_seconds)
      continue;
    by_cpu.push_back(sample.samples_per_second() * seen.observed_seconds / seen.cpu_seconds);
    cpus += seen.cpu_seconds;
    seconds += seen.observed_seconds;
  }
  // Few clean windows: all of them, by samples for each CPU second, which other load changes
  // little.
  if (clean.size() >= kFewest || by_cpu.size() < kFewest) return clean;
  // Back to samples a second, at the mean number of CPUs.
  for (double& rate : by_cpu) rate *= cpus / seconds;
  return by_cpu;
}

bool falls_surely(const std::vector<double>& rates) {
  constexpr double kDeviations = 2.6;  // one-sided, 99.5 %
  double score = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (std::size_t k = i + 1; k < rates.size(); ++k) {
      score += (rates[k] < rates[i] ? 1 : 0) - (rates[k] > rates[i] ? 1 : 0);
    }
  }
  const auto n = static_cast<double>(rates.size());
  // The standard deviation of Kendall's score without ties: sqrt(n(n-1)(2n+5)/18).
  return score > kDeviations * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

void add_windows(const std::vector<Sample>& samples, StageUse& use) {
  double waited = 0, worked = 0;
  for (const Sample& sample : samples) {
    const StepTimes& step = sample.step;
    const auto steps = static_cast<double>(std::max<std::int64_t>(sample.steps, 1));
    waited += steps * step.data_seconds;
    worked += steps * (step.compute_seconds + step.all_reduce_seconds + step.wait_seconds);
  }
  // A log that does not name the time of the data gives none.
  if (waited > 0) use.data_share = waited / (waited + worked);
  const std::vector<double> rates = steady_rates(samples);
  if (rates.size() < kFewest) return;
  const auto third = static_cast<std::ptrdiff_t>(rates.size() / 3);
  use.first_rate = mean(rates.begin(), rates.begin() + third);
  use.last_rate = mean(rates.end() - third, rates.end());
}

}  // namespace ocrtune
