// The order rests on what needs what: topology before limits, limits before the variables of
// threads, memory and container before the GPUs' verdict. Files are read before anything is
// measured. The fingerprint takes no measured fact, so that it stays the same from run to run.
#include "probes/probe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "probes/host/arm_cores.h"
#include "probes/host/cpu_limits.h"
#include "probes/host/engine.h"
#include "probes/host/isa.h"
#include "probes/host/measured_facts.h"
#include "probes/host/memory.h"
#include "probes/host/memory_nodes.h"
#include "probes/host/notes.h"
#include "probes/host/system.h"
#include "probes/host/thread_env.h"
#include "probes/host/topology.h"
#include "probes/machine/machine.h"
#include "probes/machine_gpus.h"
#include "probes/placement/allowed_cores.h"
#include "probes/placement/cautious_setting.h"

namespace ocrtune {
namespace {

// What --quick leaves out is bounded by these two, for a probe shall end in four seconds.
constexpr double kAllSeconds = 3.5;    // for a probe that measures
constexpr double kLeastSeconds = 0.8;  // of it for measuring, where a driver took the rest

// FNV-1a: short, stable over builds and machines; nobody attacks it.
std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// 16 hexadecimal digits over CPU model, topology, instruction set, usable CPUs, memory limit (to
// 1 GiB), and GPUs with their driver; not over host name, kernel or anything measured.
std::string fingerprint_of(const Machine& machine) {
  const CpuFacts& cpu = machine.cpu;
  const double limit_gib = machine.memory.limit_bytes.value_or(0) / (1024.0 * 1024 * 1024);
  std::string text =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{:.2f}|{}", cpu.model, cpu.packages, cpu.numa_nodes,
                  cpu.l3_groups, cpu.physical_cores, cpu.logical_cpus, join(cpu.isa, ","),
                  cpu.usable_cpus.value_or(0), std::lround(limit_gib));
  for (const GpuFacts& gpu : machine.gpus) {
    text += fmt::format("|{}|{}|{}", gpu.name, gpu.memory_bytes, gpu.driver);
  }
  return fmt::format("{:016x}", fnv1a(text));
}

Result<FileRoot> open_root(const ProbeOptions& options) {
  if (options.root.empty()) return FileRoot();
  if (!path_exists(options.root)) {
    return Error{ErrorKind::missing, options.root + ": no such folder"};
  }
  if (!is_directory(options.root)) {
    return Error{ErrorKind::usage, options.root + ": not a folder; --root takes a saved tree"};
  }
  FileRoot root(options.root);
  if (root.is_live()) return root;  // "--root /"
  if (!root.exists("/proc") && !root.exists("/sys")) {
    return Error{ErrorKind::missing,
                 options.root + ": holds neither proc/ nor sys/, so it is no saved machine"};
  }
  return root;
}

Environment environment_of(const ProbeOptions& options, const FileRoot& root, Notes& notes) {
  if (options.environment) return *options.environment;
  if (root.is_live()) return process_environment();
  const auto block = root.read("/proc/self/environ");
  if (block) return parse_environment(*block);
  notes.unknowns.emplace_back("environment: the saved tree has no /proc/self/environ");
  return {};
}

void fill_topology(const Topology& topology, CpuFacts& cpu) {
  cpu.topology_source = topology.source;
  cpu.model = topology.cpu_model;
  cpu.places = topology.places;
  cpu.packages = topology.packages;
  cpu.numa_nodes = topology.numa_nodes;
  cpu.l3_groups = topology.l3_groups;
  cpu.physical_cores = topology.physical_cores;
  cpu.logical_cpus = topology.logical_cpus;
  cpu.l3_bytes_each = topology.l3_bytes_each;
}

void fill_limits(CpuLimits limits, CpuFacts& cpu) {
  cpu.allowed = std::move(limits.allowed);
  cpu.usable_cpus = std::move(limits.usable);
  cpu.limits = std::move(limits.limits);
}

void append(std::vector<SystemSetting>& rows, std::vector<SystemSetting> more) {
  for (SystemSetting& row : more) rows.push_back(std::move(row));
}

// What people look for beside the facts that a launch is computed from.
void add_settings(const FileRoot& root, const std::vector<CpuKind>& kinds,
                  const EngineFacts& engine, Machine& machine) {
  const std::string architecture = read_architecture(root);
  if (!architecture.empty()) machine.settings.push_back({"architecture", architecture, "uname -m"});
  if (const int cores = allowed_cores(machine.cpu); cores > 0) {
    machine.settings.push_back({"allowed_cores", std::to_string(cores), "of the allowed CPUs"});
  }
  for (const CpuKind& kind : kinds) {
    machine.settings.push_back(
        {"cpu_kind", fmt::format("{}: CPUs {}", kind.model, kind.cpus.text()), "topology"});
  }
  append(machine.settings, node_settings(allowed_memory_nodes(root)));
  append(machine.settings, engine_settings(engine));
}

void fill_isa(IsaFacts isa, CpuFacts& cpu) {
  cpu.isa = std::move(isa.names);
  cpu.isa_source = std::move(isa.source);
  cpu.native_bf16 = std::move(isa.native_bf16);
}

// A topology without a tree: all CPUs are allowed, and everything else is unknown.
Machine described_machine(const Topology& topology) {
  const std::string why = "a topology alone does not say";
  Machine machine;
  machine.source = "topology: " + topology.source;
  fill_topology(topology, machine.cpu);
  CpuFacts& cpu = machine.cpu;
  cpu.allowed = topology.cpus();
  const auto all = static_cast<double>(cpu.allowed.count());
  cpu.usable_cpus = {all, "all CPUs of the topology"};
  cpu.limits = {{all, cpu.usable_cpus.source}};
  cpu.isa_source = cpu.native_bf16.source = cpu.governor.source = why;
  cpu.effective_cores.source = "not measured: the topology is not of this machine";
  MemoryFacts& memory = machine.memory;
  memory.limit_bytes.source = memory.shm_bytes.source = memory.shm_free_bytes.source = why;
  memory.overcommit.source = memory.transparent_hugepages.source = why;
  memory.bandwidth_bytes_per_second.source = cpu.effective_cores.source;
  cpu.core_multiply_adds_per_second.source = cpu.effective_cores.source;
  machine.container.source = machine.virtual_machine.source = why;
  machine.gpu_state = "unknown: " + why;
  machine.unknowns = {"memory, limits, instruction set, environment and GPUs: " + why};
  return machine;
}

Machine read_machine(const FileRoot& root, const ProbeOptions& options,
                     const Result<Topology>& topology) {
  Notes notes;
  Machine machine;
  machine.source = root.is_live() ? "this machine" : "saved tree " + options.root;
  const Environment environment = environment_of(options, root, notes);
  const SystemIdentity identity = read_identity(root);
  machine.host = identity.host;
  machine.kernel = identity.kernel;
  machine.os = identity.os;
  if (topology) {
    fill_topology(*topology, machine.cpu);
  } else {
    machine.cpu.topology_source = topology.error().what;
    notes.unknowns.push_back("topology: " + topology.error().what);
  }
  CpuFacts& cpu = machine.cpu;
  const std::vector<CpuKind> kinds = cpu_kinds(root, cpu);
  // hwloc, then the fastest kind of core, then /proc/cpuinfo: ARM machines often name no model.
  if (cpu.model.empty()) cpu.model = kinds.empty() ? "" : kinds.front().model;
  if (cpu.model.empty()) cpu.model = read_cpu_model(root);
  const CpuSet online = topology ? topology->cpus() : CpuSet();
  fill_limits(read_cpu_limits(root, environment, online, notes), cpu);
  fill_isa(read_isa(root, notes), machine.cpu);
  machine.cpu.governor = read_governor(root);
  machine.memory = read_memory(root, environment, notes);
  machine.ulimits = read_ulimits(root, notes);
  machine.settings = read_settings(root, notes);
  machine.thread_env = read_thread_env(environment, machine.cpu.usable_cpus.value_or(0), notes);
  machine.container = read_container(root, environment);
  machine.virtual_machine = read_virtual_machine(root);
  add_settings(root, kinds, read_engine(root, machine.container, notes), machine);
  machine.unknowns = std::move(notes.unknowns);
  machine.warnings = std::move(notes.warnings);
  if (root.is_live()) {
    add_gpus(machine, root, environment, options.gpu_deadline_seconds);
  } else {
    machine.gpu_state = "unknown: a saved tree does not hold GPUs";
  }
  return machine;
}

void mark_unmeasured(Machine& machine, const std::string& why) {
  machine.cpu.effective_cores.source = why;
  machine.cpu.core_multiply_adds_per_second.source = why;
  machine.memory.bandwidth_bytes_per_second.source = why;
}

}  // namespace

Result<Machine> probe_machine(const ProbeOptions& options) {
  const double begin = steady_clock().now_seconds();
  const auto root = OCRTUNE_TRY(open_root(options));
  const auto topology = read_topology(root, options.topology);
  const bool described = !options.topology.empty();
  if (described && !topology) return topology.error();
  // A description alone tells of no limits; with a saved tree it takes the place of its topology.
  Machine machine = described && root.is_live() ? described_machine(*topology)
                                                : read_machine(root, options, topology);
  if (!root.is_live()) {
    mark_unmeasured(machine, "not measured: a saved tree is not this machine");
  } else if (!described && options.quick) {
    mark_unmeasured(machine, "not measured: --quick");
  } else if (!described) {
    const double left = kAllSeconds - (steady_clock().now_seconds() - begin);
    add_measured_facts(machine, std::min(options.measure_seconds, std::max(kLeastSeconds, left)));
  }
  machine.rules_of_thumb = rules_of_thumb_of(machine);
  machine.recommendation = cautious_setting_of(machine);
  machine.fingerprint = fingerprint_of(machine);
  // Behind the fingerprint: it is the same machine, whatever is started on it.
  if (!described) {
    machine.memory = memory_of(machine.memory, allowed_memory_nodes(root), options.command);
  }
  return machine;
}

}  // namespace ocrtune
