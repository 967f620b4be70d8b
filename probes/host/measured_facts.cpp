#include "probes/host/measured_facts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "probes/host/bandwidth.h"
#include "probes/host/effective_cores.h"
#include "probes/host/notes.h"

namespace ocrtune {
namespace {

int reached_cache_groups(const CpuFacts& cpu) {
  std::set<int> groups;
  for (const CpuPlace& place : cpu.places) {
    if (cpu.allowed.contains(place.cpu)) groups.insert(place.l3);
  }
  return std::max(1, static_cast<int>(groups.size()));
}

}  // namespace

void add_measured_facts(Machine& machine, double bandwidth_seconds) {
  Notes notes;
  CpuFacts& cpu = machine.cpu;
  MemoryFacts& memory = machine.memory;
  const std::vector<int> order = cores_before_siblings(cpu);
  EffectiveCores cores = measure_effective_cores(order, 1.5, notes);
  cpu.effective_cores = std::move(cores.cores);
  cpu.scaling = std::move(cores.scaling);
  cpu.core_multiply_adds_per_second = std::move(cores.multiply_adds_per_second);
  cpu.external_cpus = cores.external_cpus;
  if (interrupted()) return;  // the caller is about to end
  BandwidthOptions plan;
  plan.seconds = bandwidth_seconds;
  const auto count = static_cast<std::size_t>(cpu.physical_cores);
  plan.cpus = {order.begin(),
               order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()))};
  plan.cache_groups = reached_cache_groups(cpu);
  plan.cache_bytes = cpu.l3_bytes_each * static_cast<std::uint64_t>(plan.cache_groups);
  plan.memory_bytes = memory.available_bytes / 4;
  Bandwidth bandwidth = measure_bandwidth(plan);
  memory.bandwidth_bytes_per_second = std::move(bandwidth.bytes_per_second);
  memory.bandwidth = std::move(bandwidth.by_team);
  const double usable = cpu.usable_cpus.value_or(0);
  const double capacity = cpu.effective_cores.value_or(usable) + cpu.external_cpus;
  if (cpu.effective_cores.known() && capacity < 0.75 * usable) {
    notes.warnings.push_back(fmt::format(
        "{} CPUs are usable by the rules, but only {} cores' worth of work is done at once: SMT "
        "siblings, a hidden quota, throttling or other load",
        format_count(usable), format_count(*cpu.effective_cores.value)));
  }
  for (std::string& note : notes.unknowns) machine.unknowns.push_back(std::move(note));
  for (std::string& note : notes.warnings) machine.warnings.push_back(std::move(note));
}

}  // namespace ocrtune
