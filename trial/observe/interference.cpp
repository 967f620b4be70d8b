// Snapshots hold raw counters, and everything else is computed from two of them. The order: what
// each thread ran and waited, what processes that came and went add, who had which CPUs (Pools).
// Then the waiting is parted between strangers and the tree itself, and the thresholds are asked.
// docs/trial.md tells the experiment behind them, docs/statistics.md what the rate makes of it.
#include "trial/observe/interference.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

double number_or_zero(const std::string& text) { return parse_number(text).value_or(0); }

// The value of "name value" in a file of such lines; 0 when it is not there.
double named_number(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    const auto parts = words(line);
    if (parts.size() == 2 && parts[0] == name) return number_or_zero(parts[1]);
  }
  return 0;
}

void read_stat(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto text = root.read("/proc/stat");
  if (!text) return;
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user.
  const auto fields = words(std::string_view(*text).substr(0, text->find('\n')));
  if (fields.size() < 9 || fields[0] != "cpu") return;
  const auto seconds = [&](std::size_t i) {
    return number_or_zero(fields[i]) / ticks_per_second();
  };
  snapshot.busy_cpu_seconds = seconds(1) + seconds(2) + seconds(3) + seconds(6) + seconds(7);
  snapshot.stolen_cpu_seconds = seconds(8);
  snapshot.total_cpu_seconds =
      snapshot.busy_cpu_seconds + seconds(4) + seconds(5) + snapshot.stolen_cpu_seconds;
  snapshot.busy_by_cpu = busy_by_cpu(*text, ticks_per_second());
}

void read_pressure(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto text = root.read("/proc/pressure/cpu");
  if (!text) return;
  const std::size_t at = text->find("total=");  // of the "some" line, which comes first
  if (at != std::string::npos) {
    // In microseconds (Documentation/accounting/psi.rst).
    snapshot.pressure_seconds = 1e-6 * std::strtod(text->c_str() + at + 6, nullptr);
  }
}

void read_throttling(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto path = cgroup_path(root, "cpu");
  if (!path) return;
  for (const CgroupLevel& level : path->levels) {
    const auto text = root.read(join_path(level.folder, "cpu.stat"));
    // cgroup-v2.rst has microseconds; version 1 has nanoseconds. Any level above may throttle.
    if (!text) continue;
    snapshot.throttled_seconds += path->version == 2 ? 1e-6 * named_number(*text, "throttled_usec")
                                                     : 1e-9 * named_number(*text, "throttled_time");
  }
}

void read_swapping(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto text = root.read("/proc/vmstat");
  if (!text) return;
  snapshot.swapped_pages =
      static_cast<std::uint64_t>(named_number(*text, "pswpin") + named_number(*text, "pswpout"));
}

void read_status(const std::string& file, CpuSetTexts& sets, ThreadCounters& counters) {
  constexpr std::string_view kAllowed = "\nCpus_allowed_list:";
  const auto text = read_file(file, 8192);
  if (!text) return;
  const auto number = [&](const char* name) {
    const std::size_t at = text->find(name);
    return at == std::string::npos ? 0
                                   : std::strtod(text->c_str() + at + std::strlen(name), nullptr);
  };
  counters.voluntary_switches = number("\nvoluntary_ctxt_switches:");
  counters.involuntary_switches = number("\nnonvoluntary_ctxt_switches:");
  const std::size_t at = text->find(kAllowed);
  if (at == std::string::npos) return;
  const std::string_view rest = std::string_view(*text).substr(at + kAllowed.size());
  counters.allowed = sets.of(trim(rest.substr(0, rest.find('\n'))));
}

void read_threads(const std::vector<ProcessFacts>& members, LoadSnapshot& snapshot) {
  CpuSetTexts sets;
  for (const ProcessFacts& process : members) {
    const std::string folder = fmt::format("/proc/{}/task", process.pid);
    const auto threads = list_directory(folder);
    if (!threads) continue;
    for (const std::string& thread : *threads) {
      // Time on CPUs and time on the run queue, both in nanoseconds
      // (Documentation/scheduler/sched-stats.rst).
      const auto text = read_file(folder + "/" + thread + "/schedstat", 256);
      if (!text) continue;
      const auto fields = words(*text);
      if (fields.size() < 2) continue;
      snapshot.has_thread_times = true;
      ThreadCounters& counters =
          snapshot.threads[std::atoi(thread.c_str())];  // NOLINT(cert-err34-c): a folder of numbers
      counters.run_seconds = 1e-9 * number_or_zero(fields[0]);
      counters.wait_seconds = 1e-9 * number_or_zero(fields[1]);
      read_status(folder + "/" + thread + "/status", sets, counters);
    }
  }
}

double self_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Share of the CPU time that ended processes used, unseen, from which a window was not observed.
constexpr double kMostUnseen = 0.3;

struct ThreadGrowth {
  double run = 0;
  double waited = 0;
};

using Growths = std::map<int, ThreadGrowth>;  // by tid; those that have none are below zero

// What each of the tree's threads ran and waited in between; one born since counts from zero.
Growths thread_growth(const LoadSnapshot& before, const LoadSnapshot& after) {
  Growths grown;
  for (const auto& [thread, times] : after.threads) {
    const auto found = before.threads.find(thread);
    const ThreadCounters then = found == before.threads.end() ? ThreadCounters() : found->second;
    grown[thread] = {std::max(0.0, times.run_seconds - then.run_seconds),
                     std::max(0.0, times.wait_seconds - then.wait_seconds)};
  }
  return grown;
}

// Processes that ended took their counters with them. What they ran their parents know; the time
// that they could run and did not, they waited. Who starts one at a time waits for it: the two are
// one chain. Those that live side by side are as many chains.
void add_brief(const BriefLives& brief, double cpu_seconds, double wall, Growths& threads) {
  // A quarter more than the wall time (a guess), because looks are samples.
  constexpr double kOneAtATime = 1.25;
  double all = 0;
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) all += seconds;
  if (!(all > 0 && brief.looked_seconds > 0)) return;
  // Their counters stand beside the looks; taking both would count them twice.
  for (const int thread : brief.threads) threads.erase(thread);
  double run = cpu_seconds;
  for (const auto& [id, thread] : threads) run -= thread.run;
  run = std::max(0.0, run);
  int added = 0;
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) {
    // The looks spoke for part of the window only.
    const double runnable = seconds * wall / brief.looked_seconds;
    const double ran = run * seconds / all;
    const double waited = std::max(0.0, runnable - ran);
    if (runnable <= kOneAtATime * wall) {
      const auto own = brief.ancestor_seconds.find(ancestor);
      const double also = own == brief.ancestor_seconds.end() ? 0 : own->second;
      ThreadGrowth& chain = threads[ancestor];
      chain.run += ran;
      // The parent's own time belongs to the same chain, which is never longer than the wall time.
      const double chained = std::min(wall, runnable + also * wall / brief.looked_seconds);
      chain.waited = std::max(chain.waited, chained - chain.run);
      continue;
    }
    const long chains = std::lround(runnable / wall);
    const auto share = static_cast<double>(chains);
    // Ids below zero are no thread's.
    for (long i = 0; i < chains; ++i) threads[--added] = {ran / share, waited / share};
  }
}

// Thread times are exact but lack the threads that have ended; the processes' hold these in whole
// ticks, which are believed where they say clearly more.
double run_by_tree(double threads, const LoadSnapshot& before, const LoadSnapshot& after) {
  constexpr double kClearly = 1.1, kTicksUnsure = 4;
  const double processes = after.tree_cpu_seconds - before.tree_cpu_seconds;
  return processes > kClearly * threads + kTicksUnsure / ticks_per_second() ? processes : threads;
}

// The CPUs that a thread may use, and who had them.
struct Pool {
  double cpus = 1;
  double external = 0;  // CPUs that strangers had
  double own = 0;       // CPUs that the tree and the watcher had
  double waiting = 0;   // threads of the tree that waited for one of them, at a time
};

// The pool of each of the tree's threads. Where masks or CPUs are not known there is one, of all
// usable CPUs.
class Pools {
 public:
  Pools(const LoadSnapshot& before, const LoadSnapshot& after, const Growths& threads,
        const LoadDemand& demand, double own_seconds, double external_seconds);

  const Pool& of(int thread) const {
    const auto found = by_thread_.find(thread);
    return found == by_thread_.end() ? all_ : *found->second;
  }
  const Pool& all() const { return all_; }        // of the CPUs that any thread may use
  int near_cpus() const { return near_cpus_; }    // these and their siblings; 0: not known
  int near_cores() const { return near_cores_; }  // of which these are
  double workers() const { return workers_; }     // threads that want to run much of the time
  double near_external() const { return near_external_; }  // CPUs of them that strangers had

 private:
  using Mask = std::shared_ptr<const CpuSet>;
  Pool pool_of(const CpuSet& cpus, const CpuSeconds& busy, const CpuSeconds& others) const;

  double wall_, demand_cpus_;
  Pool all_;
  std::map<const CpuSet*, Pool> by_mask_;
  std::map<int, const Pool*> by_thread_;
  int near_cpus_ = 0, near_cores_ = 0;
  double workers_ = 0;
  double near_external_ = 0;
};

// The part of the tree's CPUs that no thread with a known mask used: of threads that have ended.
Pools::Pools(const LoadSnapshot& before, const LoadSnapshot& after, const Growths& threads,
             const LoadDemand& demand, double own_seconds, double external_seconds)
    : wall_(after.seconds - before.seconds), demand_cpus_(demand.cpus) {
  constexpr double kMuch = 0.3;
  constexpr double kAtWork = 0.01;  // of the wall time: threads that sleep bind nobody
  all_ = {demand.cpus, external_seconds / wall_, own_seconds / wall_, 0};
  for (const auto& [id, thread] : threads) {
    all_.waiting += thread.waited / wall_;
    workers_ += thread.run + thread.waited > kMuch * wall_ ? 1 : 0;
  }
  near_external_ = all_.external;
  std::map<const CpuSet*, MaskedRun> runs;
  std::map<const CpuSet*, double> waiting;
  CpuSet working, known;
  double masked = 0;
  // The tree's CPU time by affinity mask: a thread can have run on the CPUs of its mask alone.
  for (const auto& [id, thread] : threads) {
    const auto found = after.threads.find(id);
    if (found == after.threads.end() || !found->second.allowed) continue;
    const Mask& mask = found->second.allowed;
    const auto [run, fresh] = runs.try_emplace(mask.get(), MaskedRun{mask, 0});
    run->second.run_seconds += thread.run;
    masked += thread.run;
    waiting[mask.get()] += thread.waited / wall_;
    if (fresh) known = known.unite(*mask);
    if (thread.run + thread.waited > kAtWork * wall_) working = working.unite(*mask);
  }
  // No thread could be read: the watcher's mask stands for the tree's, which inherits it.
  if (known.empty() && after.watcher_allowed) known = *after.watcher_allowed;
  if (working.empty()) working = known;
  if (working.empty() || before.busy_by_cpu.empty() || after.busy_by_cpu.empty()) return;
  CpuSeconds busy;
  for (const auto& [cpu, seconds] : after.busy_by_cpu) {
    const auto then = before.busy_by_cpu.find(cpu);
    if (then != before.busy_by_cpu.end()) busy[cpu] = std::max(0.0, seconds - then->second);
  }
  std::vector<MaskedRun> own;
  for (const auto& [key, run] : runs) own.push_back(run);
  const double tree = after.tree_cpu_seconds - before.tree_cpu_seconds;
  // What processes used that no living thread accounts for, spread over the CPUs at work.
  const double ended = std::clamp(tree - masked, 0.0, std::max(0.0, own_seconds - masked));
  own.push_back({std::make_shared<const CpuSet>(working), ended});
  const double watcher = std::max(0.0, own_seconds - masked - ended);
  if (after.watcher_allowed) own.push_back({after.watcher_allowed, watcher});
  // What is busy on each CPU and none of ours is the strangers'.
  const CpuSeconds others = left_to_others(busy, own);
  for (const auto& [key, run] : runs) {
    by_mask_[key] = pool_of(*key, busy, others);
    by_mask_[key].waiting = waiting[key];
  }
  for (const auto& [id, thread] : threads) {
    const auto found = after.threads.find(id);
    if (found != after.threads.end() && found->second.allowed) {
      by_thread_[id] = &by_mask_[found->second.allowed.get()];
    }
  }
  const double all_waiting = all_.waiting;
  all_ = pool_of(working, busy, others);
  all_.waiting = all_waiting;
  const CpuSet near =
      demand.siblings == nullptr ? working : demand.siblings->with_siblings(working);
  near_cpus_ = near.count();
  near_cores_ = demand.siblings == nullptr ? near.count() : demand.siblings->cores_of(near);
  near_external_ = sum_over(others, near) / wall_;
}

Pool Pools::pool_of(const CpuSet& cpus, const CpuSeconds& busy, const CpuSeconds& others) const {
  Pool pool;
  pool.cpus = std::min<double>(cpus.count(), demand_cpus_);
  pool.external = sum_over(others, cpus) / wall_;
  pool.own = std::max(0.0, sum_over(busy, cpus) / wall_ - pool.external);
  return pool;
}

// A thread that waits while a stranger has one of its CPUs would run without the stranger. While it
// waits all of these are taken, by the tree's other threads and by strangers in the measure in
// which these two ran at all; and a stranger's CPU would help only one of those that wait. Of the
// threads the root of the mean square counts, by how long each of them wanted a CPU: of many
// threads in lock step the one that waited longest had time to spare in most of its steps.
void blame_waiting(const Growths& threads, const Pools& pools, double wall, Interference& found) {
  // So that no CPU is divided by nothing where there are no strangers.
  constexpr double kTinyCpus = 1e-3;
  constexpr double kTicksOff = 2;  // of the CPU time that strangers had
  double weights = 0, squares = 0;
  for (const auto& [id, thread] : threads) {
    const Pool& pool = pools.of(id);
    const double external = std::max(pool.external, kTinyCpus);
    const double others = std::max(0.0, pool.own - thread.run / wall);
    // Of the busy CPUs of the pool, the part that strangers had.
    const double strangers = pool.cpus * external / (external + others);
    // Whom strangers keep from its CPUs they keep there no longer than they have one.
    const double most = pool.external * wall + kTicksOff / ticks_per_second();
    const double blamed =
        std::min(most, thread.waited * std::min(1.0, strangers / std::max(1.0, pool.waiting)));
    found.external_wait_seconds += blamed;
    weights += thread.run + thread.waited;
    squares += (thread.run + thread.waited) * blamed * blamed;
  }
  found.longest_external_wait_seconds = weights > 0 ? std::sqrt(squares / weights) : 0;
  const double external = std::max(pools.all().external, kTinyCpus);
  // The sum is never more than the CPU time that strangers took.
  const double most = std::max(external * wall, found.longest_external_wait_seconds);
  found.external_wait_seconds = std::min(found.external_wait_seconds, most);
}

// Where more threads want to run than there are cores, strangers have the other half of cores on
// which the tree's threads run, as far as these do not have it themselves. That slows them without
// a wait: one of many if they go each their own way, all of them if they go in step; nothing shows
// which.
void blame_siblings(const Pools& pools, double wall, Interference& found) {
  constexpr double kLoss = 0.38;  // of a thread's speed while its sibling is busy: 0.25 to 0.5
  constexpr double kInStep = 0.3, kUnsure = 1.5;
  const double workers = pools.workers(), cores = pools.near_cores();
  if (pools.near_cores() >= pools.near_cpus() || !(workers > 0)) return;
  const double inside = pools.all().external;  // of the CPUs that the threads may use
  const double outside = std::max(0.0, pools.near_external() - inside);
  // Strangers run beside the tree's threads only on logical CPUs that these leave free.
  const double room = std::max(0.0, pools.all().cpus - workers);
  const double paired = std::min({inside, std::max(0.0, workers + inside - cores), room});
  const double shared = paired + outside * std::min(1.0, workers / cores);
  const double apart = std::min(1.0, shared / std::max(1.0, workers));
  const double in_step = std::min(1.0, shared);
  found.longest_external_wait_seconds += kLoss * wall * (apart + kInStep * (in_step - apart));
  found.external_wait_seconds += kUnsure * kLoss * wall * in_step;
}

// The share of their time that the tree's threads lost to others, of the wall time at least: who
// sleeps most of it and waits a moment at each awakening loses that moment. Where the tree needs
// all CPUs its threads also wait for each other and for what the kernel does for them: then what is
// blamed on strangers counts. Threads that fit and wait beside idle CPUs wait for something that is
// not seen.
double share_lost(const Interference& found, double wall, const LoadDemand& demand) {
  constexpr double kFull = 0.8;  // of the CPUs
  const double used = found.cpu_seconds / wall + found.external_cpus;
  const double active = found.cpu_seconds / std::max(1e-9, 1 - found.run_queue_wait_share);
  const double time = std::max(wall, active);
  if (demand.threads <= found.available_cpus && used < kFull * found.available_cpus) {
    return found.run_queue_wait_share * active / time;
  }
  return std::max(found.longest_external_wait_seconds / wall, found.external_wait_seconds / time);
}

// What else may have slowed the tree than load on its CPUs.
std::string judge_rest(const Interference& found, double wall, bool within,
                       const InterferenceLimits& limits) {
  if (within && found.throttled_seconds > limits.throttled_share * wall) {
    return fmt::format("throttled for {}", format_duration(found.throttled_seconds));
  }
  if (found.steal_share > limits.steal_share) {
    return fmt::format("the hypervisor took {}", format_percent(found.steal_share));
  }
  if (found.swapped_pages > 0) return fmt::format("{} pages swapped", found.swapped_pages);
  return "";
}

std::string judge(const Interference& found, double wall, const LoadDemand& demand,
                  double near_cpus, bool has_thread_times, const InterferenceLimits& limits) {
  const bool within = demand.threads <= found.available_cpus;
  // Half a tick for each CPU, as independent errors: the root of their number.
  const double resolution = 0.5 * std::sqrt(near_cpus) / ticks_per_second() / wall;
  const double external =
      std::max(limits.external_cpus, limits.external_share * near_cpus) + resolution;
  if (found.external_cpus > external) {
    return fmt::format("other processes used {:.2f} CPUs (limit {:.2f})", found.external_cpus,
                       external);
  }
  const double lost = share_lost(found, wall, demand);
  if (lost > limits.lost_share) {
    return fmt::format("threads waited for a CPU {} of their time", format_percent(lost));
  }
  if (!has_thread_times && within && found.pressure_share > limits.pressure_share) {
    return fmt::format("CPU pressure {}", format_percent(found.pressure_share));
  }
  return judge_rest(found, wall, within, limits);
}

// The most that load on its CPUs can have taken of the tree's wall time: all that its threads
// waited, one after the other, and what neighbours cost while they ran.
double max_lost(double run_seconds, const Growths& threads, double wall) {
  constexpr double kSlowed = 0.3;  // of a running thread's speed, by shared caches and cores
  double waited = 0;
  for (const auto& [id, thread] : threads) waited += thread.waited;
  return (waited + kSlowed * std::min(run_seconds, wall)) / wall;
}

}  // namespace

LoadSnapshot take_load_snapshot(const FileRoot& root, const ProcessTree& tree, double now_seconds,
                                const std::vector<ProcessFacts>& beside) {
  LoadSnapshot snapshot;
  snapshot.seconds = now_seconds;
  read_stat(root, snapshot);
  read_pressure(root, snapshot);
  read_throttling(root, snapshot);
  read_swapping(root, snapshot);
  read_threads(tree.members(), snapshot);
  read_threads(beside, snapshot);
  snapshot.watcher_allowed = std::make_shared<const CpuSet>(current_affinity());
  // What ended between two scans is known to its parent alone; what had no such parent, to us.
  double known = tree.gone_cpu_seconds(), with_children = 0;
  for (const ProcessFacts& process : tree.members()) {
    known += process.cpu_seconds;
    with_children += process.cpu_seconds + process.children_cpu_seconds;
  }
  snapshot.tree_cpu_seconds = std::max(known, with_children);
  for (const ProcessFacts& process : beside) {
    snapshot.tree_cpu_seconds += process.cpu_seconds + process.children_cpu_seconds;
  }
  snapshot.own_cpu_seconds = snapshot.tree_cpu_seconds + self_cpu_seconds();
  return snapshot;
}

Interference interference_between(const LoadSnapshot& before, const LoadSnapshot& after,
                                  const LoadDemand& demand, const InterferenceLimits& limits) {
  Interference found;
  const double wall = after.seconds - before.seconds;
  if (!(wall > 0)) return found;
  Growths threads = thread_growth(before, after);
  double run = 0;
  double waited = 0;
  for (const auto& [id, thread] : threads) {
    run += thread.run;
    waited += thread.waited;
  }
  const double total = after.total_cpu_seconds - before.total_cpu_seconds;
  const double busy = after.busy_cpu_seconds - before.busy_cpu_seconds;
  // Thread times are exact but miss threads that have ended; process times are whole ticks.
  const double own = std::max(run, after.own_cpu_seconds - before.own_cpu_seconds);
  found.observed_seconds = wall;
  found.cpu_seconds = after.has_thread_times ? run_by_tree(run, before, after) : own;
  add_brief(after.brief, found.cpu_seconds, wall, threads);
  const Pools pools(before, after, threads, demand, own, std::max(0.0, busy - own));
  found.external_cpus = pools.near_external();
  found.available_cpus = pools.all().cpus;
  blame_waiting(threads, pools, wall, found);
  blame_siblings(pools, wall, found);
  // Of all that the tree ran: the threads that live may be those that start others and do nothing.
  const double ran = std::max(run, found.cpu_seconds);
  if (ran + waited > 0) found.run_queue_wait_share = waited / (ran + waited);
  found.pressure_share = (after.pressure_seconds - before.pressure_seconds) / wall;
  found.throttled_seconds = after.throttled_seconds - before.throttled_seconds;
  if (total > 0) found.steal_share = (after.stolen_cpu_seconds - before.stolen_cpu_seconds) / total;
  found.swapped_pages =
      after.swapped_pages > before.swapped_pages ? after.swapped_pages - before.swapped_pages : 0;
  const double machine_cpus = std::max(1.0, std::round(total / wall));
  const double near_cpus = pools.near_cpus() > 0 ? pools.near_cpus() : machine_cpus;
  // Too much of the CPU time is of processes whose waiting nobody knows.
  const bool unseen = found.cpu_seconds - run > kMostUnseen * found.cpu_seconds;
  // Even if all its waiting were lost, the tree would have lost less than 1 %.
  const bool idle = after.has_thread_times && !unseen && !after.threads.empty() &&
                    max_lost(found.cpu_seconds, threads, wall) <= limits.max_lost;
  found.spoilt_by = idle ? judge_rest(found, wall, demand.threads <= found.available_cpus, limits)
                         : judge(found, wall, demand, near_cpus, after.has_thread_times, limits);
  if (unseen && after.brief.runnable_seconds.empty() && !found.spoilt_by.empty()) {
    found.observed_seconds = 0;  // what it waited is unknown
  }
  return found;
}

}  // namespace ocrtune
