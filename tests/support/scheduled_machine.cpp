#include "tests/support/scheduled_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ocrtune {
namespace {

constexpr double kTick = 0.001;  // seconds
constexpr int kLookTicks = 20;

std::size_t index(int at) { return static_cast<std::size_t>(at); }

bool wants(const ScheduledMachine::Thread& thread) { return thread.work > 0 && !thread.blocked; }

}  // namespace

void ScheduledMachine::step() {
  for (Thread& thread : threads_) {
    if (thread.work <= 0 && thread.sleep <= 0 && !thread.blocked) thread.decide(thread);
  }
  schedule();
  int strangers = 0;
  for (const int at : cpus_) strangers += at >= 0 && threads_[index(at)].stranger ? 1 : 0;
  for (Thread& thread : threads_) {
    if (thread.cpu >= 0) {
      const double speed = !thread.stranger && strangers > 0 ? 1 - sharing_ : 1;
      thread.work -= kTick * speed;
      thread.ran += kTick;
      thread.had += kTick;
      thread.slice -= kTick;
      busy_ += kTick;
    } else if (wants(thread)) {
      thread.waited += kTick;
    } else if (thread.sleep > 0) {
      thread.sleep -= kTick;
    }
  }
  now_ += kTick;
  if (++ticks_ % kLookTicks == 0) look();
}

LoadSnapshot ScheduledMachine::snapshot() {
  LoadSnapshot seen;
  seen.brief = std::exchange(brief_, BriefLives());
  seen.seconds = now_;
  seen.busy_cpu_seconds = std::floor(busy_ * 100) / 100;
  seen.total_cpu_seconds = now_ * static_cast<double>(cpus_.size());
  seen.has_thread_times = true;
  int id = 0;
  for (const Thread& thread : threads_) {
    ++id;
    if (thread.stranger) continue;
    if (!thread.brief) seen.threads[id] = {thread.ran, thread.waited};
    seen.own_cpu_seconds += std::floor(thread.ran * 100) / 100;
  }
  seen.tree_cpu_seconds = seen.own_cpu_seconds;
  return seen;
}

// A brief thread descends from the one that was added before it.
void ScheduledMachine::look() {
  brief_.looked_seconds += kLookTicks * kTick;
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    if (!threads_[i].brief) continue;
    const int ancestor = static_cast<int>(i);  // its id
    brief_.runnable_seconds[ancestor] += wants(threads_[i]) ? kLookTicks * kTick : 0;
    brief_.ancestor_seconds[ancestor] += wants(threads_[i - 1]) ? kLookTicks * kTick : 0;
  }
}

void ScheduledMachine::schedule() {
  double least = 1e300;
  for (const Thread& thread : threads_) {
    if (thread.cpu >= 0) least = std::min(least, thread.had);
  }
  for (int& at : cpus_) {
    if (at < 0) continue;
    Thread& thread = threads_[index(at)];
    if (wants(thread) && thread.slice > 0) continue;
    thread.cpu = -1;
    at = -1;
  }
  // Who slept is not owed the whole time that it slept.
  for (Thread& thread : threads_) {
    if (thread.cpu < 0 && least < 1e299) thread.had = std::max(thread.had, least - 0.006);
  }
  for (std::size_t c = 0; c < cpus_.size(); ++c) {
    if (cpus_[c] >= 0) continue;
    int best = -1;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].cpu >= 0 || !wants(threads_[i])) continue;
      if (best < 0 || threads_[i].had < threads_[index(best)].had) best = static_cast<int>(i);
    }
    if (best < 0) continue;
    cpus_[c] = best;
    threads_[index(best)].cpu = static_cast<int>(c);
    threads_[index(best)].slice = 0.003 + 0.001 * static_cast<double>(random_.integer(0, 1));
  }
}

}  // namespace ocrtune
