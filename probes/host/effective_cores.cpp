// One thread is timed alone on a few CPUs, then teams of 1, 2, 4 ... all CPUs. "One core" is what
// the fastest thread did in a second of its own CPU time: by the wall, a thread that shares its CPU
// while it is alone would make a core look small, and one CPU like three. Two checks say whether
// the figures can be trusted: /proc/stat tells what others used on these CPUs, and schedstat how
// long the threads waited.
#include "probes/host/effective_cores.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <latch>
#include <tuple>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/files.h"
#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/pinned_team.h"

namespace ocrtune {
namespace {

// Four vectors of AVX-512, eight of AVX2, sixteen of SSE or NEON.
constexpr int kLanes = 64;

// Independent multiply-add chains, enough to fill the pipelines; everything stays in registers, so
// neither cache nor memory limits it. The values decay towards a fixed point and never overflow.
double multiply_add(int rounds) {
  float values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = static_cast<float>(i);
  for (int round = 0; round < rounds; ++round) {
    for (float& value : values) value = value * 0.9999F + 0.5F;
  }
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

struct Share {
  double rounds_per_second = 0;      // by the wall
  double rounds_per_cpu_second = 0;  // while it ran
  double waited_seconds = 0;
  double sink = 0;  // keeps the work from being optimised away
};

// Works until the time is over, and says how fast it went.
Share work_for(double seconds, std::latch& start) {
  // Rounds between two looks at the clock, so that the looks cost nothing.
  constexpr int kChunk = 2000;
  Share share;
  const double waited_before = run_queue_wait_seconds();
  // All begin at once: early threads would run alone at first.
  start.arrive_and_wait();
  const double ran_before = thread_cpu_seconds();
  const double begin = steady_clock().now_seconds();
  double now = begin;
  long rounds = 0;
  while (now - begin < seconds) {
    share.sink += multiply_add(kChunk);
    rounds += kChunk;
    now = steady_clock().now_seconds();
  }
  share.rounds_per_second = static_cast<double>(rounds) / (now - begin);
  const double ran = thread_cpu_seconds() - ran_before;
  if (ran > 0) share.rounds_per_cpu_second = static_cast<double>(rounds) / ran;
  const double waited = run_queue_wait_seconds();
  if (waited_before >= 0 && waited >= 0) share.waited_seconds = waited - waited_before;
  return share;
}

struct TeamSpeed {
  double rounds_per_second = 0;  // of all together, by the wall
  double fastest = 0;            // rounds a CPU second of the fastest thread
  double wait_share = 0;         // of all threads' time, waiting for a CPU
};

// All zero: the system had no thread to spare.
TeamSpeed team_speed(const std::vector<int>& cpus, double seconds) {
  std::vector<Share> shares(cpus.size());
  std::latch start(static_cast<std::ptrdiff_t>(cpus.size()));
  TeamSpeed speed;
  const bool ran = run_pinned(cpus, [&](std::size_t i) { shares[i] = work_for(seconds, start); });
  if (!ran) return speed;
  for (const Share& share : shares) {
    speed.rounds_per_second += share.rounds_per_second;
    speed.fastest = std::max(speed.fastest, share.rounds_per_cpu_second);
    speed.wait_share += share.waited_seconds;
  }
  // A thread may wait a little longer than it was to run.
  speed.wait_share = std::min(1.0, speed.wait_share / (seconds * static_cast<double>(cpus.size())));
  return speed;
}

// Seconds by three clocks: all work on some CPUs, our own, and the wall's.
struct BusyTime {
  double all = 0, own = 0, wall = 0;
};

// user + nice + system + irq + softirq of the "cpuN" lines in /proc/stat.
BusyTime busy_time(const std::vector<int>& cpus) {
  BusyTime time;
  const double tick = 1.0 / ticks_per_second();
  const CpuSet wanted(cpus);
  for (const std::string& line : split(read_file("/proc/stat").value_or(""), '\n')) {
    const auto fields = words(line);
    if (fields.size() < 8 || !starts_with(fields[0], "cpu") || fields[0] == "cpu") continue;
    const auto id = parse_integer(fields[0].substr(3));
    if (!id || !wanted.contains(static_cast<int>(*id))) continue;
    // Without idle and iowait, in which the CPU is free, and without steal, which is not this
    // machine's work.
    for (const std::size_t column : {1, 2, 3, 6, 7}) {
      time.all += tick * static_cast<double>(parse_integer(fields[column]).value_or(0));
    }
  }
  time.own = process_cpu_seconds();
  time.wall = steady_clock().now_seconds();
  return time;
}

double external_cpus(const BusyTime& before, const BusyTime& after) {
  const double busy = after.all - before.all - (after.own - before.own);
  return std::max(0.0, busy / (after.wall - before.wall));
}

constexpr const char* kNoThread =
    "not measured: the system has no thread to spare (ulimit -u, pids.max)";

std::vector<std::size_t> team_sizes(std::size_t all) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size < all; size *= 2) sizes.push_back(size);
  sizes.push_back(all);
  return sizes;
}

}  // namespace

std::vector<int> cores_before_siblings(const CpuFacts& cpu) {
  std::vector<std::tuple<int, int, int>> keyed;  // (SMT index, -kind, CPU)
  for (const CpuPlace& place : cpu.places) {
    if (cpu.allowed.contains(place.cpu)) {
      // First threads of cores before siblings, and fast kinds before slow ones.
      keyed.emplace_back(place.smt_index, -place.kind, place.cpu);
    }
  }
  if (keyed.empty()) return cpu.allowed.cpus();
  std::sort(keyed.begin(), keyed.end());
  std::vector<int> order;
  order.reserve(keyed.size());
  for (const auto& [smt, kind, id] : keyed) order.push_back(id);
  return order;
}

EffectiveCores measure_effective_cores(const std::vector<int>& order, double seconds,
                                       Notes& notes) {
  EffectiveCores found;
  if (order.empty()) {
    found.cores.source = "not measured: the allowed CPUs are unknown";
    found.multiply_adds_per_second.source = found.cores.source;
    return found;
  }
  const auto sizes = team_sizes(order.size());
  // CPUs measured alone: a few spread over the machine.
  const std::vector<int> alone = spread_over(order, 4);
  const double slice = seconds / static_cast<double>(alone.size() + sizes.size() + 1);
  const BusyTime before = busy_time(order);
  static_cast<void>(team_speed({order.front()}, slice / 2));  // wakes the clocks
  double one = 0;
  for (const int cpu : alone) one = std::max(one, team_speed({cpu}, slice).fastest);
  found.cores.source = found.multiply_adds_per_second.source = kNoThread;  // until it is measured
  if (one <= 0) return found;
  std::vector<std::pair<int, double>> speeds;  // (threads, rounds a second)
  double wait_share = 0;
  for (const std::size_t size : sizes) {
    const std::vector<int> team(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size));
    const TeamSpeed speed = team_speed(team, slice);
    if (speed.rounds_per_second <= 0) return found;
    wait_share = std::max(wait_share, speed.wait_share);
    one = std::max(one, speed.fastest);
    speeds.emplace_back(static_cast<int>(size), speed.rounds_per_second);
  }
  for (const auto& [threads, speed] : speeds) found.scaling.emplace_back(threads, speed / one);
  found.multiply_adds_per_second = {one * kLanes, "measured: a CPU second of the fastest core"};
  found.cores = {
      found.scaling.back().second,
      fmt::format("measured: multiply-add on {} CPUs together over a CPU second of the fastest",
                  order.size())};
  found.external_cpus = external_cpus(before, busy_time(order));
  // 0.1 CPUs and 5 % below are guesses: above the noise of an idle machine.
  if (found.external_cpus > 0.1) {
    found.cores.source += fmt::format("; others used {:.1f} CPUs meanwhile", found.external_cpus);
  }
  if (wait_share > 0.05) {
    found.cores.source += fmt::format("; threads waited {} for a CPU", format_percent(wait_share));
    notes.warnings.push_back(fmt::format(
        "during the measurement threads waited {} of the time for a CPU: other load or a quota",
        format_percent(wait_share)));
  }
  return found;
}

}  // namespace ocrtune
