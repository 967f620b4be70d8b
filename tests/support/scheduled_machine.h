// A machine of a few CPUs whose scheduler shares them among runnable threads, and what runs there:
// a training program of some threads, and strangers that come and go. For tests of what is
// concluded from its counters: the counters are those that Linux gives, the truth is known.
//
// Time goes in milliseconds. Of the runnable threads the one that has had the least comes first; it
// takes a free CPU that it may use, an idle core rather than the sibling of a busy one, and keeps
// it for a slice, or until it blocks. A thread computes slower while strangers have CPUs of its
// node (shared caches and memory), and while the other half of its core is busy.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/random.h"
#include "trial/observe/interference.h"

namespace ocrtune {

struct Topology {
  int cpus = 2;
  int nodes = 1;       // of consecutive CPUs
  bool smt = false;    // CPU c of the first half and c + cpus / 2 are one core
  double sharing = 0;  // of its speed that a thread loses where neighbours fill its node
  double filled = 1;   // share of the other CPUs of a node that does
  double smt_speed = 0.62;

  std::vector<CpuSet> cores() const;  // only those of two CPUs
};

class ScheduledMachine {
 public:
  struct Thread {
    bool stranger = false;
    std::shared_ptr<const CpuSet> mask;  // null: any CPU
    bool brief = false;  // stands for processes that come and go: its counters are never seen
    double work = 0;     // seconds of CPU until its next decision
    double sleep = 0;    // seconds until it wants to decide again; work is 0 then
    bool blocked = false;
    double ran = 0, waited = 0, had = 0;  // seconds; `had` is what fairness goes by
    double slice = 0;
    int cpu = -1, last_cpu = -1;
    // Called when work and sleep are used up: sets work, sleep or blocked.
    std::function<void(Thread&)> decide;
  };

  ScheduledMachine(int cpus, double sharing, std::uint64_t seed)
      : ScheduledMachine(Topology{.cpus = cpus, .sharing = sharing}, seed) {}
  ScheduledMachine(const Topology& topology, std::uint64_t seed);

  // CPUs that the program's threads, or strangers, may use from now on; empty: any.
  void confine(bool strangers, const CpuSet& cpus) {
    (strangers ? stranger_mask_ : own_mask_) =
        cpus.empty() ? nullptr : std::make_shared<const CpuSet>(cpus);
  }
  Thread& add(bool stranger, std::function<void(Thread&)> decide) {
    threads_.push_back({});
    threads_.back().stranger = stranger;
    threads_.back().mask = stranger ? stranger_mask_ : own_mask_;
    threads_.back().decide = std::move(decide);
    return threads_.back();
  }
  double now() const { return now_; }
  Random& random() { return random_; }

  void step();  // one millisecond

  // What /proc would show: whole ticks for the machine, nanoseconds for the program's threads.
  LoadSnapshot snapshot();

 private:
  void look();
  void schedule();
  int free_cpu_for(const Thread& thread) const;  // -1: none
  double speed_of(const Thread& thread, const std::vector<int>& strangers) const;
  std::size_t node_of(int cpu) const;
  int sibling_of(int cpu) const;  // -1: none

  Topology topology_;
  std::shared_ptr<const CpuSet> own_mask_, stranger_mask_, all_;
  std::deque<Thread> threads_;
  std::vector<int> cpus_;            // thread of each; -1: idle
  std::vector<double> busy_of_cpu_;  // seconds
  Random random_;
  double now_ = 0, busy_ = 0;
  int ticks_ = 0;
  BriefLives brief_;
};

// Data-parallel ranks that meet after each step, each fed by a loader if `loader_seconds` > 0.
struct ScheduledProgram {
  using Running = class RunningProgram;
  int ranks = 1;
  double step_seconds = 0.03;  // of CPU, of one rank, in an average step
  double loader_seconds = 0;   // of CPU, of one batch
  double idle_seconds = 0;     // slept in each step: a disk, a device
  double step_noise = 0.05;    // of the logarithm, step by step
  double trial_noise = 0.02;   // of the logarithm, of a whole trial
};

// The program on the machine; counts the steps that all ranks have ended.
class RunningProgram {
 public:
  RunningProgram(ScheduledMachine& machine, const ScheduledProgram& program)
      : machine_(machine), program_(program) {
    factor_ = std::exp(program.trial_noise * machine.random().normal());
    for (int rank = 0; rank < program.ranks; ++rank) add_rank();
  }

  std::int64_t steps() const { return steps_; }

 private:
  struct Rank {
    ScheduledMachine::Thread* trainer = nullptr;
    ScheduledMachine::Thread* loader = nullptr;
    int ready = 0;  // batches
    enum class Next { data, sleep, barrier } next = Next::data;
    bool loading = false, waits_for_data = false;
  };

  double noisy(double seconds) {
    return factor_ * seconds * std::exp(program_.step_noise * machine_.random().normal());
  }

  void add_rank() {
    ranks_.push_back({});
    Rank& rank = ranks_.back();
    rank.trainer = &machine_.add(
        false, [this, &rank](ScheduledMachine::Thread& thread) { train(rank, thread); });
    if (program_.loader_seconds <= 0) return;
    rank.loader = &machine_.add(
        false, [this, &rank](ScheduledMachine::Thread& thread) { load(rank, thread); });
  }

  void load(Rank& rank, ScheduledMachine::Thread& thread) {
    if (rank.loading) {
      rank.loading = false;
      ++rank.ready;
      if (rank.waits_for_data) {
        rank.waits_for_data = false;
        rank.trainer->blocked = false;
      }
    }
    if (rank.ready >= 2) {
      thread.blocked = true;
      return;
    }
    rank.loading = true;
    thread.work = noisy(program_.loader_seconds);
  }

  void train(Rank& rank, ScheduledMachine::Thread& thread) {
    using Next = Rank::Next;
    if (rank.next == Next::barrier) return arrive(rank, thread);
    if (rank.next == Next::sleep) {
      rank.next = Next::barrier;
      if (program_.idle_seconds > 0) {
        thread.sleep = program_.idle_seconds;
        return;
      }
      return arrive(rank, thread);
    }
    if (rank.loader != nullptr) {
      if (rank.ready == 0) {
        rank.waits_for_data = thread.blocked = true;
        return;
      }
      --rank.ready;
      rank.loader->blocked = false;
    }
    rank.next = Next::sleep;
    thread.work = noisy(program_.step_seconds);
  }

  void arrive(Rank& rank, ScheduledMachine::Thread& thread) {
    rank.next = Rank::Next::data;
    if (++arrived_ < program_.ranks) {
      thread.blocked = true;
      return;
    }
    arrived_ = 0;
    ++steps_;
    for (Rank& one : ranks_) one.trainer->blocked = false;
    train(rank, thread);
  }

  ScheduledMachine& machine_;
  ScheduledProgram program_;
  std::deque<Rank> ranks_;
  double factor_ = 1;
  int arrived_ = 0;
  std::int64_t steps_ = 0;
};

// One rank whose threads share each step in short parallel regions, as OpenMP does it: who comes
// to a region's end before the others spins for a while, then sleeps.
struct ForkJoinProgram {
  using Running = class RunningForkJoin;
  int threads = 2;
  int regions = 10;               // in a step
  double region_seconds = 0.006;  // of CPU, of all threads together
  double spin_seconds = 0.004;
  double region_noise = 0.05;  // of the logarithm
};

class RunningForkJoin {
 public:
  RunningForkJoin(ScheduledMachine& machine, const ForkJoinProgram& program)
      : machine_(machine), program_(program), members_(static_cast<std::size_t>(program.threads)) {
    for (Member& member : members_) {
      member.thread = &machine_.add(
          false, [this, &member](ScheduledMachine::Thread& thread) { go_on(member, thread); });
    }
  }

  std::int64_t steps() const { return ended_ / program_.regions; }

 private:
  static constexpr double kLook = 0.001;  // between two looks of who spins
  struct Member {
    ScheduledMachine::Thread* thread = nullptr;
    std::int64_t arrived = 0;  // at the ends of so many regions
    bool computes = false;
    double spun = 0;
  };

  void go_on(Member& member, ScheduledMachine::Thread& thread) {
    if (member.computes) arrive(member);
    if (member.arrived == ended_) {
      member.computes = true;
      member.spun = 0;
      thread.work = program_.region_seconds / program_.threads *
                    std::exp(program_.region_noise * machine_.random().normal());
    } else if (member.spun < program_.spin_seconds) {
      member.spun += kLook;
      thread.work = kLook;
    } else {
      thread.blocked = true;
    }
  }

  void arrive(Member& member) {
    member.computes = false;
    ++member.arrived;
    for (const Member& other : members_) {
      if (other.arrived == ended_) return;
    }
    ++ended_;
    for (Member& other : members_) other.thread->blocked = false;
  }

  ScheduledMachine& machine_;
  ForkJoinProgram program_;
  std::deque<Member> members_;
  std::int64_t ended_ = 0;  // regions
};

// Ranks that each start one process a page and wait for it.
struct ForkingProgram {
  using Running = class RunningForks;
  int ranks = 1;
  double page_seconds = 0.06;     // of CPU, of the page's process
  double parent_seconds = 0.004;  // of CPU, between two pages
  double page_noise = 0.1;        // of the logarithm
};

class RunningForks {
 public:
  RunningForks(ScheduledMachine& machine, const ForkingProgram& program)
      : machine_(machine), program_(program), ranks_(static_cast<std::size_t>(program.ranks)) {
    for (Rank& rank : ranks_) {
      rank.parent = &machine_.add(
          false, [this, &rank](ScheduledMachine::Thread& thread) { start(rank, thread); });
      rank.child = &machine_.add(
          false, [this, &rank](ScheduledMachine::Thread& thread) { end(rank, thread); });
      rank.child->brief = true;
      rank.child->blocked = true;
    }
  }

  std::int64_t steps() const { return pages_; }

 private:
  struct Rank {
    ScheduledMachine::Thread* parent = nullptr;
    ScheduledMachine::Thread* child = nullptr;
    bool between = true;  // pages
  };

  void start(Rank& rank, ScheduledMachine::Thread& parent) {
    if (rank.between) {
      rank.between = false;
      parent.work = program_.parent_seconds;
      return;
    }
    parent.blocked = true;
    rank.child->blocked = false;
    rank.child->work =
        program_.page_seconds * std::exp(program_.page_noise * machine_.random().normal());
  }

  void end(Rank& rank, ScheduledMachine::Thread& child) {
    ++pages_;
    child.blocked = true;
    rank.between = true;
    rank.parent->blocked = false;
  }

  ScheduledMachine& machine_;
  ForkingProgram program_;
  std::deque<Rank> ranks_;
  std::int64_t pages_ = 0;
};

}  // namespace ocrtune
