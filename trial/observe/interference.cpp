#include "trial/observe/interference.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

double ticks_per_second() {
  static const double kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return kTicks;
}

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
}

void read_pressure(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto text = root.read("/proc/pressure/cpu");
  if (!text) return;
  const std::size_t at = text->find("total=");  // of the "some" line, which comes first
  if (at != std::string::npos) {
    snapshot.pressure_seconds = 1e-6 * std::strtod(text->c_str() + at + 6, nullptr);
  }
}

void read_throttling(const FileRoot& root, LoadSnapshot& snapshot) {
  const auto path = cgroup_path(root, "cpu");
  if (!path) return;
  for (const CgroupLevel& level : path->levels) {
    const auto text = root.read(join_path(level.folder, "cpu.stat"));
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

void read_switches(const std::string& file, ThreadCounters& counters) {
  const auto text = read_file(file, 8192);
  if (!text) return;
  const auto number = [&](const char* name) {
    const std::size_t at = text->find(name);
    return at == std::string::npos ? 0
                                   : std::strtod(text->c_str() + at + std::strlen(name), nullptr);
  };
  counters.voluntary_switches = number("\nvoluntary_ctxt_switches:");
  counters.involuntary_switches = number("\nnonvoluntary_ctxt_switches:");
}

void read_threads(const std::vector<ProcessFacts>& members, LoadSnapshot& snapshot) {
  for (const ProcessFacts& process : members) {
    const std::string folder = fmt::format("/proc/{}/task", process.pid);
    const auto threads = list_directory(folder);
    if (!threads) continue;
    for (const std::string& thread : *threads) {
      const auto text = read_file(folder + "/" + thread + "/schedstat", 256);
      if (!text) continue;
      const auto fields = words(*text);
      if (fields.size() < 2) continue;
      snapshot.has_thread_times = true;
      ThreadCounters& counters =
          snapshot.threads[std::atoi(thread.c_str())];  // NOLINT(cert-err34-c): a folder of numbers
      counters.run_seconds = 1e-9 * number_or_zero(fields[0]);
      counters.wait_seconds = 1e-9 * number_or_zero(fields[1]);
      read_switches(folder + "/" + thread + "/status", counters);
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
  constexpr double kOneAtATime = 1.25;
  double all = 0;
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) all += seconds;
  if (!(all > 0 && brief.looked_seconds > 0)) return;
  for (const int thread : brief.threads) threads.erase(thread);
  double run = cpu_seconds;
  for (const auto& [id, thread] : threads) run -= thread.run;
  run = std::max(0.0, run);
  int added = 0;
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) {
    const double runnable = seconds * wall / brief.looked_seconds;
    const double ran = run * seconds / all;
    const double waited = std::max(0.0, runnable - ran);
    if (runnable <= kOneAtATime * wall) {
      const auto own = brief.ancestor_seconds.find(ancestor);
      const double also = own == brief.ancestor_seconds.end() ? 0 : own->second;
      ThreadGrowth& chain = threads[ancestor];
      chain.run += ran;
      const double chained = std::min(wall, runnable + also * wall / brief.looked_seconds);
      chain.waited = std::max(chain.waited, chained - chain.run);
      continue;
    }
    const long chains = std::lround(runnable / wall);
    const auto share = static_cast<double>(chains);
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

// A thread that waits while a stranger has one of the CPUs would run without the stranger. While it
// waits all CPUs are taken, by the tree's other threads and by strangers in the measure in which
// these two ran at all; and a stranger's CPU would help only one of those that wait.
void blame_waiting(const Growths& threads, double own, double wall, Interference& found) {
  constexpr double kTinyCpus = 1e-3;
  const double external = std::max(found.external_cpus, kTinyCpus);
  for (const auto& [id, thread] : threads) {
    const double others = std::max(0.0, own - thread.run) / wall;
    const double strangers = found.available_cpus * external / (external + others);
    const double blamed = thread.waited * std::min(1.0, strangers);
    found.external_wait_seconds += blamed;
    found.longest_external_wait_seconds = std::max(found.longest_external_wait_seconds, blamed);
  }
  const double most = std::max(external * wall, found.longest_external_wait_seconds);
  found.external_wait_seconds = std::min(found.external_wait_seconds, most);
}

// The share of their time that the tree's threads lost to others. Where the tree needs all CPUs its
// threads also wait for each other and for what the kernel does for them: then what is blamed on
// strangers counts. Threads that fit and wait beside idle CPUs wait for something that is not seen.
double share_lost(const Interference& found, double wall, const LoadDemand& demand) {
  constexpr double kFull = 0.8;  // of the CPUs
  const double used = found.cpu_seconds / wall + found.external_cpus;
  if (demand.threads <= demand.cpus && used < kFull * demand.cpus) {
    return found.run_queue_wait_share;
  }
  const double active = found.cpu_seconds / std::max(1e-9, 1 - found.run_queue_wait_share);
  return std::max(found.longest_external_wait_seconds / wall,
                  active > 0 ? found.external_wait_seconds / active : 0);
}

std::string judge(const Interference& found, double wall, const LoadDemand& demand,
                  double machine_cpus, bool has_thread_times, const InterferenceLimits& limits) {
  const bool within = demand.threads <= demand.cpus;
  const double resolution = 0.5 * std::sqrt(machine_cpus) / ticks_per_second() / wall;
  const double external =
      std::max(limits.external_cpus, limits.external_share * machine_cpus) + resolution;
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
  if (within && found.throttled_seconds > limits.throttled_share * wall) {
    return fmt::format("throttled for {}", format_duration(found.throttled_seconds));
  }
  if (found.steal_share > limits.steal_share) {
    return fmt::format("the hypervisor took {}", format_percent(found.steal_share));
  }
  if (found.swapped_pages > 0) return fmt::format("{} pages swapped", found.swapped_pages);
  return "";
}

}  // namespace

LoadSnapshot take_load_snapshot(const FileRoot& root, const ProcessTree& tree, double now_seconds) {
  LoadSnapshot snapshot;
  snapshot.seconds = now_seconds;
  read_stat(root, snapshot);
  read_pressure(root, snapshot);
  read_throttling(root, snapshot);
  read_swapping(root, snapshot);
  read_threads(tree.members(), snapshot);
  // What ended between two scans is known to its parent alone; what had no such parent, to us.
  double known = tree.gone_cpu_seconds(), with_children = 0;
  for (const ProcessFacts& process : tree.members()) {
    known += process.cpu_seconds;
    with_children += process.cpu_seconds + process.children_cpu_seconds;
  }
  snapshot.tree_cpu_seconds = std::max(known, with_children);
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
  found.external_cpus = std::max(0.0, busy - own) / wall;
  found.observed_seconds = wall;
  found.cpu_seconds = after.has_thread_times ? run_by_tree(run, before, after) : own;
  found.available_cpus = demand.cpus;
  add_brief(after.brief, found.cpu_seconds, wall, threads);
  blame_waiting(threads, own, wall, found);
  if (run + waited > 0) found.run_queue_wait_share = waited / (run + waited);
  found.pressure_share = (after.pressure_seconds - before.pressure_seconds) / wall;
  found.throttled_seconds = after.throttled_seconds - before.throttled_seconds;
  if (total > 0) {
    found.steal_share = (after.stolen_cpu_seconds - before.stolen_cpu_seconds) / total;
  }
  found.swapped_pages =
      after.swapped_pages > before.swapped_pages ? after.swapped_pages - before.swapped_pages : 0;
  const double machine_cpus = std::max(1.0, std::round(total / wall));
  found.spoilt_by = judge(found, wall, demand, machine_cpus, after.has_thread_times, limits);
  const bool unseen = found.cpu_seconds - run > kMostUnseen * found.cpu_seconds;
  if (unseen && after.brief.runnable_seconds.empty() && !found.spoilt_by.empty()) {
    found.observed_seconds = 0;  // what it waited is unknown
  }
  return found;
}

}  // namespace ocrtune
