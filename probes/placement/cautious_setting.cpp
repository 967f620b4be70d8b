// The order: cores, then the shape (groups, threads, processes), then the memory, which cuts the
// number of processes. The reasons are written last, from the numbers that stand.
#include "probes/placement/cautious_setting.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
// Most that a rank of the usual OCR models takes at batch 64; an assumption until it is measured.
constexpr double kRankBytes = 2 * kGiB;
// Guesses, as are the next two.
constexpr double kMemoryShare = 0.8;
constexpr int kMaxThreads = 8;
constexpr int kMaxGpuWorkers = 4;

struct CoreCounts {
  int whole = 0;         // distinct allowed cores of the fastest kind
  int cache_groups = 0;  // that they lie in
  bool hybrid = false;
};

CoreCounts count_allowed_cores(const CpuFacts& cpu) {
  int fastest = 0;
  int slowest = 0;
  bool first = true;
  for (const CpuPlace& place : cpu.places) {
    if (!cpu.allowed.contains(place.cpu)) continue;
    fastest = first ? place.kind : std::max(fastest, place.kind);
    slowest = first ? place.kind : std::min(slowest, place.kind);
    first = false;
  }
  // A cache of each core's own (POWER) says nothing of which cores work well together.
  const bool shared = cpu.l3_groups > 0 && cpu.l3_groups != cpu.physical_cores;
  std::set<int> cores;
  std::set<int> groups;
  for (const CpuPlace& place : cpu.places) {
    if (!cpu.allowed.contains(place.cpu) || place.kind != fastest) continue;
    cores.insert(place.core >= 0 ? place.core : -1 - place.cpu);
    groups.insert(shared ? place.l3 : place.numa);
  }
  if (cores.empty()) return {cpu.allowed.count(), 1, false};  // places unknown
  return {static_cast<int>(cores.size()), static_cast<int>(groups.size()), fastest != slowest};
}

// Memory that a launch may fill; 0 when unknown.
double free_bytes(const Machine& machine) {
  double room = machine.memory.limit_bytes.value_or(0);
  const auto available = static_cast<double>(machine.memory.available_bytes);
  if (available > 0) room = room > 0 ? std::min(room, available) : available;
  return room;
}

void explain_memory(int by_memory, bool squeezed, double room, CautiousSetting& out) {
  if (room <= 0) {
    out.reasons.emplace_back("memory is unknown: watch it during the first launch");
    return;
  }
  const std::string free = format_bytes(static_cast<std::uint64_t>(room));
  if (by_memory == 0) {
    out.reasons.push_back(fmt::format(
        "{} free: even one process of 2 GiB (an assumption) may not fit; begin with a small batch",
        free));
  } else if (squeezed) {
    out.reasons.push_back(
        fmt::format("only {} by memory: 2 GiB each (an assumption) in 80 % of {} free",
                    how_many(by_memory, "process"), free));
  } else {
    out.reasons.push_back(
        fmt::format("memory does not limit: 2 GiB a process (an assumption), {} free", free));
  }
}

void explain_cpus(const Machine& machine, const CoreCounts& cores, int usable,
                  CautiousSetting& out) {
  out.reasons.push_back(
      fmt::format("{:.4g} usable {} ({}), {} in {}: threads x processes stay at {}",
                  *machine.cpu.usable_cpus.value, noun_after(*machine.cpu.usable_cpus.value, "CPU"),
                  machine.cpu.usable_cpus.source, how_many(cores.whole, "whole core"),
                  how_many(cores.cache_groups, "cache group"), usable));
  if (cores.hybrid) {
    out.reasons.emplace_back("fast cores only: one slow core would hold up every step");
  }
  if (out.nproc > 1 && machine.visible_gpus.empty()) {
    out.reasons.emplace_back("threads of a process share one cache; processes do not share cores");
  }
}

// One process for each visible GPU; the CPUs load for them.
void set_for_gpus(const Machine& machine, int usable, CautiousSetting& out) {
  const int gpus = static_cast<int>(machine.visible_gpus.size());
  out.nproc = gpus;
  out.threads = 1;
  out.workers = std::clamp(usable / gpus - 1, 0, kMaxGpuWorkers);
  out.reasons.push_back(how_many(gpus, "visible GPU") +
                        ": one process for each, the CPUs load for them");
  if (gpus == 1) return;
  out.env.insert(out.env.end(), machine.p2p.env.begin(), machine.p2p.env.end());
  if (machine.p2p.verdict != "P2P_OK") {
    out.reasons.emplace_back("whether they reach each other was not measured: 'ocrtune p2p' does");
  }
}

}  // namespace

RulesOfThumb rules_of_thumb_of(const Machine& machine) {
  RulesOfThumb rules;
  const double gigabytes = static_cast<double>(machine.memory.total_bytes) / kGiB;
  if (machine.memory.total_bytes > 0) {
    rules.memory_half = std::max(1, static_cast<int>(gigabytes / 2));
  }
  if (machine.cpu.physical_cores > 0) {
    rules.cores_60_percent = std::max(1, machine.cpu.physical_cores * 6 / 10);
  }
  return rules;
}

CautiousSetting cautious_setting_of(const Machine& machine) {
  CautiousSetting out;
  if (!machine.cpu.usable_cpus.known()) {
    out.reasons.push_back("no setting without a CPU count: " + machine.cpu.usable_cpus.source);
    return out;
  }
  const CoreCounts cores = count_allowed_cores(machine.cpu);
  int usable = std::max(1, static_cast<int>(*machine.cpu.usable_cpus.value));
  if (cores.whole > 0) usable = std::min(usable, cores.whole);
  if (machine.cpu.effective_cores.known()) {
    // What others used while it was measured comes back when they end.
    const double capacity = *machine.cpu.effective_cores.value + machine.cpu.external_cpus;
    const int effective = static_cast<int>(std::lround(capacity));
    usable = std::clamp(effective, 1, usable);
  }
  // No more groups than CPUs: a quota may leave fewer CPUs than there are caches.
  const int groups = std::clamp(cores.cache_groups, 1, usable);
  out.threads = std::clamp(usable / groups, 1, kMaxThreads);
  out.nproc = std::max(1, usable / out.threads);
  out.workers = usable >= 4 ? 1 : 0;
  if (!machine.visible_gpus.empty()) set_for_gpus(machine, usable, out);
  const double room = free_bytes(machine);
  const int by_memory = static_cast<int>(std::min(kMemoryShare * room / kRankBytes, 1e6));
  const bool squeezed = room > 0 && by_memory < out.nproc;
  if (squeezed) out.nproc = std::max(1, by_memory);
  out.binding = out.nproc > 1 && out.nproc * out.threads <= usable ? "compact" : "none";
  out.env.insert(out.env.begin(), {"OMP_NUM_THREADS", std::to_string(out.threads)});
  explain_cpus(machine, cores, usable, out);
  explain_memory(by_memory, squeezed, room, out);
  return out;
}

}  // namespace ocrtune
