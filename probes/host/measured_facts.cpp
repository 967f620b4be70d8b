// Cores first, because the teams that measure memory are chosen by them. Memory is measured by one
// thread for each physical core: siblings share the paths to memory.
#include "probes/host/measured_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "probes/host/bandwidth.h"
#include "probes/host/effective_cores.h"
#include "probes/host/notes.h"

namespace ocrtune {
namespace {

void reach(const CpuFacts& cpu, const CpuSet& cpus, BandwidthOptions& plan) {
  std::set<int> groups;
  for (const CpuPlace& place : cpu.places) {
    if (cpus.contains(place.cpu)) groups.insert(place.l3);
  }
  plan.cache_groups = std::max(1, static_cast<int>(groups.size()));
  plan.cache_bytes = cpu.l3_bytes_each * static_cast<std::uint64_t>(plan.cache_groups);
}

}  // namespace

std::optional<SystemSetting> measure_node_bandwidth(const CpuFacts& cpu,
                                                    const BandwidthOptions& all) {
  std::map<int, std::vector<int>> nodes;
  for (const CpuPlace& place : cpu.places) {
    const bool has = std::find(all.cpus.begin(), all.cpus.end(), place.cpu) != all.cpus.end();
    if (has && place.numa >= 0) nodes[place.numa].push_back(place.cpu);
  }
  if (nodes.size() < 2) return std::nullopt;
  std::vector<std::string> rates;
  for (const auto& [node, cpus] : nodes) {
    BandwidthOptions plan;
    plan.cpus = cpus;
    reach(cpu, CpuSet(cpus), plan);
    plan.memory_bytes = all.memory_bytes / nodes.size();
    plan.seconds = all.seconds / static_cast<double>(nodes.size());
    const Fact<double> rate = measure_bandwidth(plan).bytes_per_second;
    if (rate.known()) rates.push_back(fmt::format("node {}: {:.1f} GB/s", node, *rate.value / 1e9));
  }
  if (rates.empty()) return std::nullopt;
  return SystemSetting{"memory_node_bandwidth", join(rates, "; "),
                       "measured one after the other, by each node's own CPUs"};
}

void add_measured_facts(Machine& machine, double seconds) {
  // Of the time; a guess. Memory takes longer, because its pages have to be touched first.
  constexpr double kForCores = 0.3;
  const double end = steady_clock().now_seconds() + seconds;
  Notes notes;
  CpuFacts& cpu = machine.cpu;
  MemoryFacts& memory = machine.memory;
  const std::vector<int> order = cores_before_siblings(cpu);
  EffectiveCores cores = measure_effective_cores(order, kForCores * seconds, notes);
  cpu.effective_cores = std::move(cores.cores);
  cpu.scaling = std::move(cores.scaling);
  cpu.core_multiply_adds_per_second = std::move(cores.multiply_adds_per_second);
  cpu.external_cpus = cores.external_cpus;
  if (interrupted()) return;  // the caller is about to end
  BandwidthOptions plan;
  const auto count = static_cast<std::size_t>(cpu.physical_cores);
  plan.cpus = {order.begin(),
               order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()))};
  reach(cpu, cpu.allowed, plan);
  // Other programs of this machine may ask for memory meanwhile.
  plan.memory_bytes = memory.available_bytes / 4;
  // A guess, as is the bound of 0.75 below.
  const double nodes_share = cpu.numa_nodes > 1 ? 0.3 : 0;  // of the time
  plan.seconds = nodes_share * std::max(0.0, end - steady_clock().now_seconds());
  if (auto nodes = measure_node_bandwidth(cpu, plan)) machine.settings.push_back(*nodes);
  plan.seconds = std::max(0.0, end - steady_clock().now_seconds());
  Bandwidth bandwidth = measure_bandwidth(plan);
  memory.bandwidth_bytes_per_second = std::move(bandwidth.bytes_per_second);
  memory.bandwidth = std::move(bandwidth.by_team);
  const double usable = cpu.usable_cpus.value_or(0);
  // What others used meanwhile was there to be used: it is no sign of a hidden limit.
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
