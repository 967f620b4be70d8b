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
  std::vector<int> strangers(index(topology_.nodes), 0);  // that run on each node
  for (int cpu = 0; cpu < topology_.cpus; ++cpu) {
    const int at = cpus_[index(cpu)];
    if (at < 0) continue;
    strangers[node_of(cpu)] += threads_[index(at)].stranger ? 1 : 0;
    busy_of_cpu_[index(cpu)] += kTick;
  }
  for (Thread& thread : threads_) {
    if (thread.cpu >= 0) {
      thread.work -= kTick * speed_of(thread, strangers);
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

std::vector<CpuSet> Topology::cores() const {
  std::vector<CpuSet> cores;
  for (int cpu = 0; smt && cpu < cpus / 2; ++cpu) cores.push_back(CpuSet({cpu, cpu + cpus / 2}));
  return cores;
}

ScheduledMachine::ScheduledMachine(const Topology& topology, std::uint64_t seed)
    : topology_(topology),
      all_(std::make_shared<const CpuSet>(CpuSet::range(0, topology.cpus - 1))),
      cpus_(index(topology.cpus), -1),
      busy_of_cpu_(index(topology.cpus), 0),
      random_(seed) {}

std::size_t ScheduledMachine::node_of(int cpu) const {
  const int physical = topology_.smt ? cpu % (topology_.cpus / 2) : cpu;
  const int of_node = (topology_.smt ? topology_.cpus / 2 : topology_.cpus) / topology_.nodes;
  return index(physical / of_node);
}

int ScheduledMachine::sibling_of(int cpu) const {
  return topology_.smt ? (cpu + topology_.cpus / 2) % topology_.cpus : -1;
}

double ScheduledMachine::speed_of(const Thread& thread, const std::vector<int>& strangers) const {
  const int sibling = sibling_of(thread.cpu);
  double speed = sibling >= 0 && cpus_[index(sibling)] >= 0 ? topology_.smt_speed : 1;
  if (thread.stranger) return speed;
  const double others = topology_.cpus / topology_.nodes - 1;
  const double full = std::max(1.0, topology_.filled * others);
  return speed * (1 - topology_.sharing * std::min(1.0, strangers[node_of(thread.cpu)] / full));
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
    if (!thread.brief) {
      seen.threads[id] = {thread.ran, thread.waited, 0, 0, thread.mask ? thread.mask : all_};
    }
    seen.own_cpu_seconds += std::floor(thread.ran * 100) / 100;
  }
  seen.tree_cpu_seconds = seen.own_cpu_seconds;
  for (int cpu = 0; cpu < topology_.cpus; ++cpu) {
    seen.busy_by_cpu[cpu] = std::floor(busy_of_cpu_[index(cpu)] * 100) / 100;
  }
  seen.watcher_allowed = all_;
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
  std::vector<int> waiting;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].cpu < 0 && wants(threads_[i])) waiting.push_back(static_cast<int>(i));
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](int a, int b) { return threads_[index(a)].had < threads_[index(b)].had; });
  for (const int at : waiting) {
    Thread& thread = threads_[index(at)];
    const int cpu = free_cpu_for(thread);
    if (cpu < 0) continue;
    cpus_[index(cpu)] = at;
    thread.cpu = thread.last_cpu = cpu;
    thread.slice = 0.003 + 0.001 * static_cast<double>(random_.integer(0, 1));
  }
}

// Where it ran before, if that is free; but an idle core is better than half of a busy one.
int ScheduledMachine::free_cpu_for(const Thread& thread) const {
  int found = -1, best = 0;
  const auto consider = [&](int cpu) {
    if (cpus_[index(cpu)] >= 0) return;
    const int sibling = sibling_of(cpu);
    const bool whole = sibling < 0 || cpus_[index(sibling)] < 0;
    const int worth = 1 + (whole ? 2 : 0) + (cpu == thread.last_cpu ? 1 : 0);
    if (worth <= best) return;
    best = worth;
    found = cpu;
  };
  if (thread.last_cpu >= 0) {
    consider(thread.last_cpu);
    if (best == 4) return found;
  }
  for (const int cpu : (thread.mask ? *thread.mask : *all_).cpus()) {
    consider(cpu);
    if (best >= 3) break;
  }
  return found;
}

}  // namespace ocrtune
