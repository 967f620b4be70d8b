// Threads that stay are read from their counters, those that come and go from the looks of
// short_lives.h. The sums are of seconds, so that windows weigh by their length.
#include "trial/observe/thread_use.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "trial/observe/thread_runtimes.h"

namespace ocrtune {
namespace {

constexpr double kBusyShare = 0.05;
// More runnable threads than this for each CPU wait for each other, as a mean over the trial.
constexpr double kCrowded = 1.25;
constexpr double kThrottledShare = 0.05;
constexpr int kLooks = 3;  // at a process: it loads its libraries one after the other

}  // namespace

void ThreadUseMeter::add_window(const LoadSnapshot& before, const LoadSnapshot& after,
                                double cpu_seconds) {
  const double wall = after.seconds - before.seconds;
  if (!(wall > 0) || !after.has_thread_times) return;
  int busy = 0;
  const BriefLives& brief = after.brief;
  const bool come_and_go = !brief.runnable_seconds.empty() && brief.looked_seconds > 0;
  const double each = come_and_go ? wall / brief.looked_seconds : 0;  // a look speaks for so long
  int staying = 0;
  for (const auto& [thread, now] : after.threads) {
    // Their time is in the looks already.
    if (come_and_go && brief.threads.contains(thread)) continue;
    ++staying;
    const auto found = before.threads.find(thread);
    const ThreadCounters then = found == before.threads.end() ? ThreadCounters() : found->second;
    const double ran = std::max(0.0, now.run_seconds - then.run_seconds);
    busy += ran >= kBusyShare * wall ? 1 : 0;
    runnable_ += ran + std::max(0.0, now.wait_seconds - then.wait_seconds);
    voluntary_ += std::max(0.0, now.voluntary_switches - then.voluntary_switches);
    involuntary_ += std::max(0.0, now.involuntary_switches - then.involuntary_switches);
  }
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) runnable_ += each * seconds;
  ran_ += cpu_seconds;
  const int gone = come_and_go ? brief.max_threads : 0;
  alive_ = std::max(alive_, staying + gone);
  busy_ += busy * wall + each * brief.working_seconds;
  throttled_ += after.throttled_seconds - before.throttled_seconds;
  seconds_ += wall;
}

ThreadUse ThreadUseMeter::use() const {
  ThreadUse use;
  use.runtimes.assign(runtimes_.begin(), runtimes_.end());
  if (!(seconds_ > 0)) return use;
  use.alive = alive_;
  use.busy = busy_ / seconds_;
  use.cpus = ran_ / seconds_;
  use.runnable = runnable_ / seconds_;
  use.voluntary_switches_per_second = voluntary_ / seconds_;
  use.involuntary_switches_per_second = involuntary_ / seconds_;
  use.throttled_share = throttled_ / seconds_;
  return use;
}

void ThreadUseMeter::add_runtimes(const std::vector<ProcessFacts>& members) {
  runtimes_.merge(loaded_runtimes(members));
}

void ThreadUseMeter::look_at(const std::vector<ProcessFacts>& members) {
  std::vector<ProcessFacts> fresh;
  for (const ProcessFacts& process : members) {
    // Later looks would read the maps of every process again and again.
    if (++looks_[process.pid] <= kLooks) fresh.push_back(process);
  }
  add_runtimes(fresh);
}

void ThreadUseMeter::tell(Trial& trial, double cpus) const {
  trial.threads = use();
  const Reason crowded = crowding(trial.threads, cpus);
  if (crowded.empty()) return;
  trial.evidence.push_back(
      fmt::format("{}: {:.1f} threads want to run on {:g} {}",
                  crowded.is(ReasonCode::throttled) ? "throttled by a quota" : "oversubscribed",
                  trial.threads.runnable, cpus, noun_after(cpus, "CPU")));
}

Reason crowding(const ThreadUse& use, double cpus) {
  if (use.alive == 0 || cpus <= 0) return {};
  // More threads than CPUs, and a quota that pauses them: the quota is the cause to name.
  if (use.runnable > cpus && use.throttled_share > kThrottledShare) {
    return reason<ReasonCode::throttled>(decimal(use.runnable, 1), general(cpus, 3),
                                         in_percent(std::min(1.0, use.throttled_share)));
  }
  if (use.runnable <= kCrowded * cpus) return {};
  return reason<ReasonCode::oversubscribed>(decimal(use.runnable, 1), general(cpus, 3));
}

}  // namespace ocrtune
