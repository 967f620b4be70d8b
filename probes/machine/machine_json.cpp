// Facts that have a source are written in two places: the value under its name, the source under
// "sources". The keys "folk_rules" and "foreign_cpus" are older than the names in the code, and
// stay, for stored cards are read by them.
#include "probes/machine/machine_json.h"

#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "probes/machine/gpu_report.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

// Writes and reads one document; `sources` collects what the facts say about themselves.
struct Writer {
  Json out = Json::object();
  Json sources = Json::object();

  template <typename T>
  Json fact(const char* name, const Fact<T>& fact) {
    sources[name] = valid_utf8(fact.source);
    return fact.known() ? Json(*fact.value) : Json(nullptr);
  }
};

struct Reader {
  const Json& in;
  const Json& sources;

  template <typename T>
  void fact(const Json& at, const char* name, Fact<T>& fact) const {
    if (at.contains(name) && !at[name].is_null()) fact.value = at[name].get<T>();
    fact.source = sources.value(name, "");
  }
};

template <typename T>
void get(const Json& at, const char* name, T& value) {
  if (at.contains(name) && !at[name].is_null()) at[name].get_to(value);
}

Json utf8_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

// Bytes and whole CPU counts as integers, so that readers in any language see 16, not 16.0.
Json number(double value) {
  // Doubles hold every whole number up to here.
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::fabs(value) < kExact && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json write_limits(const Fact<double>& fact, const std::vector<Limit>& limits) {
  Json all = Json::array();
  for (const Limit& limit : limits) {
    all.push_back({{"value", number(limit.value)}, {"limited_by", valid_utf8(limit.limited_by)}});
  }
  return {{"value", fact.known() ? number(*fact.value) : Json(nullptr)},
          {"limited_by", valid_utf8(fact.source)},
          {"limits", all}};
}

void read_limits(const Json& at, Fact<double>& fact, std::vector<Limit>& limits) {
  if (at.contains("value") && !at["value"].is_null()) fact.value = at["value"].get<double>();
  get(at, "limited_by", fact.source);
  for (const Json& entry : at.value("limits", Json::array())) {
    limits.push_back({entry.at("value").get<double>(), entry.value("limited_by", "")});
  }
}

Json write_pairs(const std::vector<std::pair<int, double>>& pairs, const char* second) {
  Json list = Json::array();
  for (const auto& [threads, value] : pairs)
    list.push_back({{"threads", threads}, {second, value}});
  return list;
}

void read_pairs(const Json& at, const char* name, const char* second,
                std::vector<std::pair<int, double>>& pairs) {
  for (const Json& entry : at.value(name, Json::array())) {
    pairs.emplace_back(entry.at("threads").get<int>(), entry.at(second).get<double>());
  }
}

Json write_texts(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[valid_utf8(name)] = valid_utf8(value);
  return object;
}

void read_texts(const Json& at, const char* name,
                std::vector<std::pair<std::string, std::string>>& pairs) {
  const Json object = at.value(name, Json::object());
  for (const auto& [key, value] : object.items()) pairs.emplace_back(key, value.get<std::string>());
}

// Rows of plain numbers: a machine of 384 CPUs has as many places. "place_columns" names them.
Json write_places(const std::vector<CpuPlace>& places) {
  Json list = Json::array();
  for (const CpuPlace& p : places) {
    list.push_back(Json::array({p.cpu, p.core, p.l3, p.numa, p.package, p.smt_index, p.kind}));
  }
  return list;
}

void read_places(const Json& at, std::vector<CpuPlace>& places) {
  for (const Json& row : at) {
    CpuPlace p;
    int* fields[] = {&p.cpu, &p.core, &p.l3, &p.numa, &p.package, &p.smt_index, &p.kind};
    std::size_t index = 0;
    for (int* field : fields) *field = row.at(index++).get<int>();
    places.push_back(p);
  }
}

Json write_cpu(const CpuFacts& cpu, Writer& writer) {
  Json at = Json::object();
  at["model"] = valid_utf8(cpu.model);
  at["topology_source"] = valid_utf8(cpu.topology_source);
  at["allowed"] = cpu.allowed.text();
  at["packages"] = cpu.packages;
  at["numa_nodes"] = cpu.numa_nodes;
  at["l3_groups"] = cpu.l3_groups;
  at["logical_cpus"] = cpu.logical_cpus;
  at["l3_bytes_each"] = cpu.l3_bytes_each;
  at["scaling"] = write_pairs(cpu.scaling, "speed_relative_to_one");
  at["foreign_cpus"] = cpu.external_cpus;
  at["isa_source"] = cpu.isa_source;
  at["native_bf16"] = writer.fact("native_bf16", cpu.native_bf16);
  at["governor"] = writer.fact("governor", cpu.governor);
  at["place_columns"] = {"cpu", "core", "l3", "numa", "package", "smt_index", "kind"};
  at["places"] = write_places(cpu.places);
  return at;
}

void read_cpu(const Reader& reader, CpuFacts& cpu) {
  const Json at = reader.in.value("cpu", Json::object());
  get(at, "model", cpu.model);
  get(at, "topology_source", cpu.topology_source);
  const auto allowed = CpuSet::parse(at.value("allowed", ""));
  if (allowed) cpu.allowed = *allowed;
  get(at, "packages", cpu.packages);
  get(at, "numa_nodes", cpu.numa_nodes);
  get(at, "l3_groups", cpu.l3_groups);
  get(at, "logical_cpus", cpu.logical_cpus);
  get(at, "l3_bytes_each", cpu.l3_bytes_each);
  read_pairs(at, "scaling", "speed_relative_to_one", cpu.scaling);
  get(at, "foreign_cpus", cpu.external_cpus);
  get(at, "isa_source", cpu.isa_source);
  reader.fact(at, "native_bf16", cpu.native_bf16);
  reader.fact(at, "governor", cpu.governor);
  read_places(at.value("places", Json::array()), cpu.places);
  read_limits(reader.in.value("usable_cpus", Json::object()), cpu.usable_cpus, cpu.limits);
  reader.fact(reader.in, "effective_cores", cpu.effective_cores);
  reader.fact(reader.in, "core_multiply_adds_per_second", cpu.core_multiply_adds_per_second);
  get(reader.in, "physical_cores", cpu.physical_cores);
  get(reader.in, "isa", cpu.isa);
}

Json write_memory(const MemoryFacts& memory, Writer& writer) {
  Json at = Json::object();
  at["total_bytes"] = memory.total_bytes;
  at["available_bytes"] = memory.available_bytes;
  at["shm_free_bytes"] = writer.fact("shm_free_bytes", memory.shm_free_bytes);
  at["swap_total_bytes"] = memory.swap_total_bytes;
  at["swap_free_bytes"] = memory.swap_free_bytes;
  at["overcommit"] = writer.fact("overcommit", memory.overcommit);
  at["transparent_hugepages"] = writer.fact("transparent_hugepages", memory.transparent_hugepages);
  at["bandwidth"] = write_pairs(memory.bandwidth, "bytes_per_second");
  return at;
}

void read_memory(const Reader& reader, MemoryFacts& memory) {
  const Json at = reader.in.value("memory", Json::object());
  get(at, "total_bytes", memory.total_bytes);
  get(at, "available_bytes", memory.available_bytes);
  reader.fact(at, "shm_free_bytes", memory.shm_free_bytes);
  get(at, "swap_total_bytes", memory.swap_total_bytes);
  get(at, "swap_free_bytes", memory.swap_free_bytes);
  reader.fact(at, "overcommit", memory.overcommit);
  reader.fact(at, "transparent_hugepages", memory.transparent_hugepages);
  read_pairs(at, "bandwidth", "bytes_per_second", memory.bandwidth);
  read_limits(reader.in.value("memory_limit_bytes", Json::object()), memory.limit_bytes,
              memory.limits);
  reader.fact(reader.in, "memory_bandwidth_bytes_per_second", memory.bandwidth_bytes_per_second);
  reader.fact(reader.in, "shm_bytes", memory.shm_bytes);
}

Json write_p2p(const P2pSummary& p2p) {
  return {{"verdict", p2p.verdict},
          {"sentence", valid_utf8(p2p.sentence)},
          {"confidence", p2p.confidence},
          {"env", write_texts(p2p.env)},
          {"evidence", utf8_list(p2p.evidence)},
          {"not_checked", utf8_list(p2p.not_checked)},
          {"hints", utf8_list(p2p.hints)}};
}

void read_p2p(const Json& at, P2pSummary& p2p) {
  get(at, "verdict", p2p.verdict);
  get(at, "sentence", p2p.sentence);
  get(at, "confidence", p2p.confidence);
  read_texts(at, "env", p2p.env);
  get(at, "evidence", p2p.evidence);
  get(at, "not_checked", p2p.not_checked);
  get(at, "hints", p2p.hints);
}

Json write_recommendation(const CautiousSetting& setting) {
  return {{"measured", false},
          {"nproc", setting.nproc},
          {"threads", setting.threads},
          {"workers", setting.workers},
          {"binding", setting.binding},
          {"env", write_texts(setting.env)},
          {"reasons", utf8_list(setting.reasons)}};
}

void read_recommendation(const Json& at, CautiousSetting& setting) {
  get(at, "nproc", setting.nproc);
  get(at, "threads", setting.threads);
  get(at, "workers", setting.workers);
  get(at, "binding", setting.binding);
  read_texts(at, "env", setting.env);
  get(at, "reasons", setting.reasons);
}

Json write_system(const Machine& machine) {
  Json thread_env = Json::array();
  for (const ThreadEnvFact& fact : machine.thread_env) {
    thread_env.push_back({{"name", valid_utf8(fact.name)},
                          {"value", valid_utf8(fact.value)},
                          {"effect", valid_utf8(fact.effect)},
                          {"limits", fact.limits}});
  }
  Json settings = Json::array();
  for (const SystemSetting& setting : machine.settings) {
    settings.push_back({{"name", setting.name},
                        {"value", valid_utf8(setting.value)},
                        {"source", valid_utf8(setting.source)}});
  }
  return {{"ulimits", write_texts(machine.ulimits)},
          {"thread_env", thread_env},
          {"settings", settings}};
}

void read_system(const Json& at, Machine& machine) {
  read_texts(at, "ulimits", machine.ulimits);
  for (const Json& entry : at.value("thread_env", Json::array())) {
    machine.thread_env.push_back({entry.value("name", ""), entry.value("value", ""),
                                  entry.value("effect", ""), entry.value("limits", false)});
  }
  for (const Json& entry : at.value("settings", Json::array())) {
    machine.settings.push_back(
        {entry.value("name", ""), entry.value("value", ""), entry.value("source", "")});
  }
}

Machine read_machine(const Json& in) {
  Machine machine;
  const Json sources = in.value("sources", Json::object());
  const Reader reader{in, sources};
  get(in, "source", machine.source);
  get(in, "host", machine.host);
  get(in, "kernel", machine.kernel);
  get(in, "os", machine.os);
  get(in, "fingerprint", machine.fingerprint);
  reader.fact(in, "container", machine.container);
  reader.fact(in, "virtual_machine", machine.virtual_machine);
  read_cpu(reader, machine.cpu);
  read_memory(reader, machine.memory);
  machine.gpus = gpus_from_json(in.value("gpus", Json::array()));
  machine.gpu_links = links_from_json(in.value("gpu_links", Json::array()));
  get(in, "cuda_driver_version", machine.cuda_driver_version);
  read_p2p(in.value("p2p", Json::object()), machine.p2p);
  get(in, "gpu_state", machine.gpu_state);
  get(in, "gpu_visibility", machine.gpu_visibility);
  machine.visible_gpus = seen_gpus_from_json(in.value("visible_gpus", Json::array()));
  const Json rules = in.value("folk_rules", Json::object());
  get(rules, "memory_half", machine.rules_of_thumb.memory_half);
  get(rules, "cores_60_percent", machine.rules_of_thumb.cores_60_percent);
  get(rules, "seven", machine.rules_of_thumb.seven);
  read_recommendation(in.value("recommendation", Json::object()), machine.recommendation);
  read_system(in.value("system", Json::object()), machine);
  get(in, "unknowns", machine.unknowns);
  get(in, "warnings", machine.warnings);
  get(in, "links", machine.links);
  return machine;
}

}  // namespace

std::string machine_json(const Machine& machine, int indent) {
  Writer writer;
  Json& out = writer.out;
  const CpuFacts& cpu = machine.cpu;
  const MemoryFacts& memory = machine.memory;
  out["schema"] = kProbeSchema;
  out["source"] = valid_utf8(machine.source);
  out["host"] = valid_utf8(machine.host);
  out["kernel"] = valid_utf8(machine.kernel);
  out["os"] = valid_utf8(machine.os);
  out["fingerprint"] = machine.fingerprint;
  out["container"] = writer.fact("container", machine.container);
  out["virtual_machine"] = writer.fact("virtual_machine", machine.virtual_machine);
  out["usable_cpus"] = write_limits(cpu.usable_cpus, cpu.limits);
  out["effective_cores"] = writer.fact("effective_cores", cpu.effective_cores);
  out["core_multiply_adds_per_second"] =
      writer.fact("core_multiply_adds_per_second", cpu.core_multiply_adds_per_second);
  out["physical_cores"] = cpu.physical_cores > 0 ? Json(cpu.physical_cores) : Json(nullptr);
  out["memory_limit_bytes"] = write_limits(memory.limit_bytes, memory.limits);
  out["memory_bandwidth_bytes_per_second"] =
      writer.fact("memory_bandwidth_bytes_per_second", memory.bandwidth_bytes_per_second);
  out["shm_bytes"] = writer.fact("shm_bytes", memory.shm_bytes);
  out["isa"] = utf8_list(cpu.isa);
  out["gpus"] = gpus_json(machine.gpus);
  out["gpu_links"] = links_json(machine.gpu_links);
  out["cuda_driver_version"] = machine.cuda_driver_version;
  out["p2p"] = write_p2p(machine.p2p);
  out["gpu_state"] = valid_utf8(machine.gpu_state);
  out["visible_gpus"] = seen_gpus_json(machine.visible_gpus);
  out["gpu_visibility"] = valid_utf8(machine.gpu_visibility);
  out["folk_rules"] = {{"memory_half", machine.rules_of_thumb.memory_half},
                       {"cores_60_percent", machine.rules_of_thumb.cores_60_percent},
                       {"seven", machine.rules_of_thumb.seven}};
  out["recommendation"] = write_recommendation(machine.recommendation);
  out["unknowns"] = utf8_list(machine.unknowns);
  out["warnings"] = utf8_list(machine.warnings);
  if (!machine.links.empty()) out["links"] = utf8_list(machine.links);
  out["cpu"] = write_cpu(cpu, writer);
  out["memory"] = write_memory(memory, writer);
  out["system"] = write_system(machine);
  out["sources"] = writer.sources;
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<Machine> parse_machine_json(const std::string& text) {
  try {
    const Json in = Json::parse(text);
    if (!in.is_object()) return Error{ErrorKind::invalid, "machine: not a JSON object"};
    return read_machine(in);
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, std::string("machine: ") + error.what()};
  }
}

}  // namespace ocrtune
