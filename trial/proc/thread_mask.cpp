// Everything here is arithmetic on sets of CPUs and on counters that others have read; only
// SmtSiblings reads a tree of files. It has no part of the judgement, which is
// trial/observe/interference.h.
#include "trial/proc/thread_mask.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

CpuSeconds busy_by_cpu(std::string_view stat, double ticks_per_second) {
  // cpuN user nice system idle iowait irq softirq ...
  constexpr std::array<bool, 7> kBusy = {true, true, true, false, false, true, true};
  CpuSeconds busy;
  for (std::size_t at = stat.find("\ncpu"); at != std::string_view::npos;
       // The sum of all CPUs, "cpu  ...", stands in the first line and has no line feed before it.
       at = stat.find("\ncpu", at + 1)) {
    const char* from = stat.data() + at + 4;
    const char* const end = stat.data() + stat.size();
    int cpu = 0;
    const auto name = std::from_chars(from, end, cpu);
    if (name.ec != std::errc()) continue;
    from = name.ptr;
    double ticks = 0;
    std::size_t field = 0;
    for (; field < kBusy.size(); ++field) {
      while (from < end && *from == ' ') ++from;
      unsigned long long value = 0;
      const auto number = std::from_chars(from, end, value);
      if (number.ec != std::errc()) break;
      if (kBusy.at(field)) ticks += static_cast<double>(value);
      from = number.ptr;
    }
    if (field == kBusy.size()) busy[cpu] = ticks / ticks_per_second;
  }
  return busy;
}

CpuSeconds left_to_others(CpuSeconds busy, std::vector<MaskedRun> own) {
  std::erase_if(own, [](const MaskedRun& one) { return !one.allowed; });
  // Threads that are bound narrowly leave less of their CPUs to those that may run anywhere.
  std::stable_sort(own.begin(), own.end(), [](const MaskedRun& a, const MaskedRun& b) {
    return a.allowed->count() < b.allowed->count();
  });
  for (const MaskedRun& one : own) {
    const double there = sum_over(busy, *one.allowed);
    if (!(there > 0)) continue;
    // The threads ran somewhere on these CPUs, so each gives up the same share.
    const double kept = std::max(0.0, 1 - one.run_seconds / there);
    for (const int cpu : one.allowed->cpus()) {
      const auto found = busy.find(cpu);
      if (found != busy.end()) found->second *= kept;
    }
  }
  return busy;
}

double sum_over(const CpuSeconds& seconds, const CpuSet& cpus) {
  double sum = 0;
  for (const int cpu : cpus.cpus()) {
    const auto found = seconds.find(cpu);
    if (found != seconds.end()) sum += std::max(0.0, found->second);
  }
  return sum;
}

std::shared_ptr<const CpuSet> CpuSetTexts::of(std::string_view text) {
  const auto known = known_.find(text);
  if (known != known_.end()) return known->second;
  auto parsed = CpuSet::parse(text);
  auto set = parsed && !parsed->empty() ? std::make_shared<const CpuSet>(*std::move(parsed))
                                        : std::shared_ptr<const CpuSet>();
  known_.emplace(text, set);
  return set;
}

SmtSiblings::SmtSiblings(const FileRoot& root) {
  const auto online = root.read("/sys/devices/system/cpu/online");
  const auto cpus = online ? CpuSet::parse(trim(*online)) : Result<CpuSet>(CpuSet());
  if (!cpus) return;
  for (const int cpu : cpus->cpus()) {
    const auto text =
        root.read(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    const auto set = text ? CpuSet::parse(trim(*text)) : Result<CpuSet>(CpuSet());
    if (set && set->count() > 1) siblings_[cpu] = *set;
  }
}

SmtSiblings::SmtSiblings(const std::vector<CpuSet>& cores) {
  for (const CpuSet& core : cores) {
    for (const int cpu : core.cpus()) siblings_[cpu] = core;
  }
}

CpuSet SmtSiblings::with_siblings(const CpuSet& cpus) const {
  std::vector<int> all = cpus.cpus();
  for (const int cpu : cpus.cpus()) {
    const auto found = siblings_.find(cpu);
    if (found == siblings_.end()) continue;
    all.insert(all.end(), found->second.cpus().begin(), found->second.cpus().end());
  }
  return CpuSet(std::move(all));
}

int SmtSiblings::cores_of(const CpuSet& cpus) const {
  std::set<int> cores;
  for (const int cpu : cpus.cpus()) {
    const auto found = siblings_.find(cpu);
    // A core is named by its first CPU.
    cores.insert(found == siblings_.end() ? cpu : found->second.cpus().front());
  }
  return static_cast<int>(cores.size());
}

}  // namespace ocrtune
