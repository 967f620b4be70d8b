// Facts that have a source are written in two places: the value under its name, the source under
// "sources". The keys "folk_rules" and "foreign_cpus" are older than the names in the code, and
// stay, for stored cards are read by them.
#include "probes/machine/machine_json.h"

#include <cmath>
#include <cstdint>

#include "probes/machine/gpu_fields.h"

namespace ocrtune {

template <Like<CpuPlace> T>
auto row_of(T& p) {
  return std::tie(p.cpu, p.core, p.l3, p.numa, p.package, p.smt_index, p.kind);
}

template <typename Io, Like<ThreadEnvFact> T>
void list_fields(const Io& visit, T& fact) {
  OCRTUNE_VISIT(fact, name, value, effect, limits);
}

template <typename Io, Like<SystemSetting> T>
void list_fields(const Io& visit, T& setting) {
  OCRTUNE_VISIT(setting, name, value, source);
}

template <typename Io, Like<P2pSummary> T>
void list_fields(const Io& visit, T& p2p) {
  OCRTUNE_VISIT(p2p, verdict, sentence, confidence, env, evidence, not_checked, hints);
}

template <typename Io, Like<RulesOfThumb> T>
void list_fields(const Io& visit, T& rules) {
  OCRTUNE_VISIT(rules, memory_half, cores_60_percent, seven);
}

template <typename Io, Like<CautiousSetting> T>
void list_fields(const Io& visit, T& setting) {
  visit.constant("measured", false);
  OCRTUNE_VISIT(setting, nproc, threads, workers, binding, env, reasons);
}

namespace {

// Bytes and whole CPU counts as integers, so that readers in any language see 16, not 16.0.
FactJson number(double value) {
  // Doubles hold every whole number up to here.
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::fabs(value) < kExact && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void list_limits(const FactWriter& io, const char* name, const Fact<double>& fact,
                 const std::vector<Limit>& limits) {
  FactJson all = FactJson::array();
  for (const Limit& limit : limits) {
    all.push_back({{"value", number(limit.value)}, {"limited_by", valid_utf8(limit.limited_by)}});
  }
  io.constant(name, {{"value", fact.known() ? number(*fact.value) : FactJson()},
                     {"limited_by", valid_utf8(fact.source)},
                     {"limits", all}});
}

void list_limits(const FactReader& io, const char* name, Fact<double>& fact,
                 std::vector<Limit>& limits) {
  const FactReader in = io.in(name);
  if (in.at.contains("value") && !in.at["value"].is_null()) {
    fact.value = in.at["value"].get<double>();
  }
  in("limited_by", fact.source);
  for (const FactJson& entry : in.at.value("limits", FactJson::array())) {
    limits.push_back({entry.at("value").get<double>(), entry.value("limited_by", "")});
  }
}

using Pairs = std::vector<std::pair<int, double>>;

void list_pairs(const FactWriter& io, const char* name, const char* second, const Pairs& pairs) {
  FactJson list = FactJson::array();
  for (const auto& [threads, value] : pairs) {
    list.push_back({{"threads", threads}, {second, value}});
  }
  io.constant(name, list);
}

void list_pairs(const FactReader& io, const char* name, const char* second, Pairs& pairs) {
  for (const FactJson& entry : io.at.value(name, FactJson::array())) {
    pairs.emplace_back(entry.at("threads").get<int>(), entry.at(second).get<double>());
  }
}

template <typename Io, Like<CpuFacts> T>
void list_cpu(const Io& visit, T& cpu) {
  OCRTUNE_VISIT(cpu, model, topology_source, allowed, packages, numa_nodes, l3_groups, logical_cpus,
                l3_bytes_each);
  list_pairs(visit, "scaling", "speed_relative_to_one", cpu.scaling);
  visit("foreign_cpus", cpu.external_cpus);
  OCRTUNE_VISIT(cpu, isa_source, native_bf16, governor);
  // A machine of 384 CPUs has as many rows.
  visit.constant("place_columns", {"cpu", "core", "l3", "numa", "package", "smt_index", "kind"});
  visit("places", cpu.places);
}

template <typename Io, Like<MemoryFacts> T>
void list_memory(const Io& visit, T& memory) {
  OCRTUNE_VISIT(memory, total_bytes, available_bytes, shm_free_bytes, swap_total_bytes,
                swap_free_bytes, overcommit, transparent_hugepages);
  list_pairs(visit, "bandwidth", "bytes_per_second", memory.bandwidth);
}

template <typename Io, Like<Machine> T>
void list_machine(const Io& visit, T& machine) {
  auto& cpu = machine.cpu;
  auto& memory = machine.memory;
  OCRTUNE_VISIT(machine, source, host, kernel, os, fingerprint, container, virtual_machine);
  list_limits(visit, "usable_cpus", cpu.usable_cpus, cpu.limits);
  OCRTUNE_VISIT(cpu, effective_cores, core_multiply_adds_per_second);
  visit("physical_cores", cpu.physical_cores, 0);
  list_limits(visit, "memory_limit_bytes", memory.limit_bytes, memory.limits);
  visit("memory_bandwidth_bytes_per_second", memory.bandwidth_bytes_per_second);
  visit("shm_bytes", memory.shm_bytes);
  visit("isa", cpu.isa);
  OCRTUNE_VISIT(machine, gpus, gpu_links, cuda_driver_version, p2p, gpu_state, visible_gpus,
                gpu_visibility);
  visit("folk_rules", machine.rules_of_thumb);
  OCRTUNE_VISIT(machine, recommendation, unknowns, warnings);
  if (!machine.links.empty() || std::is_same_v<Io, FactReader>) visit("links", machine.links);
  list_cpu(visit.in("cpu"), cpu);
  list_memory(visit.in("memory"), memory);
  const Io system = visit.in("system");
  system("ulimits", machine.ulimits);
  system("thread_env", machine.thread_env);
  system("settings", machine.settings);
}

}  // namespace

std::string machine_json(const Machine& machine, int indent) {
  FactJson out, sources = FactJson::object();
  out["schema"] = kProbeSchema;
  list_machine(FactWriter{out, sources}, machine);
  out["sources"] = sources;
  return out.dump(indent, ' ', false, FactJson::error_handler_t::replace);
}

Result<Machine> parse_machine_json(const std::string& text) {
  try {
    const FactJson in = FactJson::parse(text);
    if (!in.is_object()) return Error{ErrorKind::invalid, "machine: not a JSON object"};
    Machine machine;
    const FactJson sources = in.value("sources", FactJson::object());
    list_machine(FactReader{in, sources}, machine);
    return machine;
  } catch (const FactJson::exception& error) {
    return Error{ErrorKind::invalid, std::string("machine: ") + error.what()};
  }
}

}  // namespace ocrtune
