// Facts stand in the order in which they limit a launch: CPUs, memory, thread variables, GPUs.
// Warnings and unknowns share the lines that these leave of kMaxPageLines.
#include "reports/console/machine_console.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "probes/placement/allowed_cores.h"

namespace ocrtune {
namespace {

// Instructions and lists are wrapped here even where the terminal is wider.
constexpr std::size_t kMaxWidth = 118;
constexpr std::size_t kMaxPageLines = 25;

constexpr std::size_t kMargin = 12;  // the label's

// "label       text", the label only on the first line of its block.
void add(std::vector<std::string>& lines, const char* label, const std::string& text) {
  lines.push_back(fmt::format("{:<{}}{}", label, kMargin, text));
}

std::vector<std::string> wrap(const std::string& text, std::size_t width = kMaxWidth) {
  std::vector<std::string> lines(1);
  for (const std::string& word : words(text)) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string cpus_text(double cpus) { return fmt::format("{:.4g}", cpus); }

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }

std::string rate_text(double bytes_per_second) {
  return fmt::format("{:.1f} GB/s", bytes_per_second * 1e-9);
}

// The values of a setting, each of which is a row; "": there is none.
std::string setting_text(const Machine& machine, std::string_view name) {
  std::vector<std::string> values;
  for (const SystemSetting& setting : machine.settings) {
    if (setting.name == name) values.push_back(setting.value);
  }
  return join(values, "; ");
}

std::string identity(const Machine& machine) {
  std::vector<std::string> parts;
  if (machine.source != "this machine") parts.push_back(machine.source);
  const std::string architecture = setting_text(machine, "architecture");
  // The usual architecture is not worth a word.
  const std::string other = architecture == "x86_64" ? "" : architecture;
  for (const std::string& part : {machine.host, machine.cpu.model, other, machine.os}) {
    if (!part.empty()) parts.push_back(part);
  }
  if (!machine.kernel.empty()) parts.push_back("Linux " + machine.kernel);
  const std::string container = machine.container.value_or("none");
  const std::string virtual_machine = machine.virtual_machine.value_or("none");
  const bool rootless = setting_text(machine, "engine_rootless") == "yes";
  if (container != "none") parts.push_back("in " + container + (rootless ? " (rootless)" : ""));
  if (virtual_machine != "none") parts.push_back("on " + virtual_machine);
  return join(parts, ", ");
}

std::string topology_text(const CpuFacts& cpu) {
  if (cpu.places.empty()) return "topology unknown: " + cpu.topology_source;
  std::string text =
      fmt::format("{} in {}, {}", how_many(cpu.physical_cores, "core"),
                  how_many(cpu.packages, "package"), how_many(cpu.numa_nodes, "NUMA node"));
  if (cpu.l3_groups > 0) {
    text += fmt::format(", {} of {}", how_many(cpu.l3_groups, "L3 group"),
                        format_bytes(cpu.l3_bytes_each));
  }
  const auto fastest =
      std::max_element(cpu.places.begin(), cpu.places.end(),
                       [](const CpuPlace& a, const CpuPlace& b) { return a.kind < b.kind; });
  if (fastest->kind > 0) {
    const auto slow = std::count_if(cpu.places.begin(), cpu.places.end(),
                                    [&](const CpuPlace& p) { return p.kind < fastest->kind; });
    text += fmt::format(", hybrid ({} on slower cores)", how_many(slow, "CPU"));
  }
  return text;
}

void add_cpus(std::vector<std::string>& lines, const Machine& machine) {
  const CpuFacts& cpu = machine.cpu;
  if (cpu.usable_cpus.known()) {
    add(lines, "CPUs",
        fmt::format("{} usable of {} ({})", cpus_text(*cpu.usable_cpus.value),
                    cpu.logical_cpus > 0 ? std::to_string(cpu.logical_cpus) : "an unknown number",
                    "limited by " + cpu.usable_cpus.source));
  } else {
    add(lines, "CPUs", "unknown: " + cpu.usable_cpus.source);
  }
  add(lines, "", topology_text(cpu));
  if (const int cores = allowed_cores(cpu); cores > 0 && cores < cpu.physical_cores) {
    add(lines, "",
        fmt::format("allowed: CPUs {}, on {}", cpu.allowed.text(), how_many(cores, "core")));
  }
  const std::string kinds = setting_text(machine, "cpu_kind");
  if (!kinds.empty()) add(lines, "", kinds);
  if (cpu.effective_cores.known()) {
    std::string curve;
    for (const auto& [threads, speed] : cpu.scaling) {
      curve += fmt::format("{}{}: {:.2f}", curve.empty() ? "" : ", ", threads, speed);
    }
    add(lines, "",
        fmt::format("{:.2f} cores' worth at once, measured (threads: speed of one; {})",
                    *cpu.effective_cores.value, curve));
  } else {
    add(lines, "", "effective cores " + cpu.effective_cores.source);
  }
  std::string isa =
      cpu.isa.empty() ? "instructions unknown: " + cpu.isa_source : join(cpu.isa, " ");
  if (cpu.native_bf16.known()) {
    isa += *cpu.native_bf16.value ? "; bf16 is native" : "; bf16 is not native, so not offered";
  }
  for (const std::string& line : wrap(isa)) add(lines, "", line);
}

void add_memory(std::vector<std::string>& lines, const Machine& machine) {
  const MemoryFacts& memory = machine.memory;
  std::string text = memory.limit_bytes.known()
                         ? fmt::format("{} limit ({})", bytes_text(*memory.limit_bytes.value),
                                       memory.limit_bytes.source)
                         : "unknown: " + memory.limit_bytes.source;
  if (memory.available_bytes > 0) text += ", " + format_bytes(memory.available_bytes) + " free";
  if (memory.shm_bytes.known()) text += ", /dev/shm " + format_bytes(*memory.shm_bytes.value);
  if (memory.total_bytes > 0) {
    text += memory.swap_total_bytes == 0 ? ", no swap"
                                         : ", swap " + format_bytes(memory.swap_total_bytes);
  }
  add(lines, "Memory", text);
  // Nodes are listed where they are few, or where one of them is out of the ordinary.
  constexpr int kFewNodes = 4;
  const std::string nodes = setting_text(machine, "memory_node");
  if (machine.cpu.numa_nodes <= kFewNodes || nodes.find("not allowed here") != nodes.npos ||
      nodes.find("no CPUs") != nodes.npos) {
    if (!nodes.empty()) add(lines, "", nodes);
  }
  if (!memory.bandwidth_bytes_per_second.known()) {
    add(lines, "", "bandwidth " + memory.bandwidth_bytes_per_second.source);
    return;
  }
  std::string teams;
  for (const auto& [threads, rate] : memory.bandwidth) {
    teams += fmt::format("{}{}: {:.1f}", teams.empty() ? "" : ", ", threads, rate * 1e-9);
  }
  add(lines, "",
      fmt::format("{}, measured (threads: GB/s; {})",
                  rate_text(*memory.bandwidth_bytes_per_second.value), teams));
  const std::string by_node = setting_text(machine, "memory_node_bandwidth");
  if (!by_node.empty()) add(lines, "", by_node);
}

void add_environment(std::vector<std::string>& lines, const Machine& machine) {
  std::vector<const ThreadEnvFact*> limiting;
  std::vector<std::string> others;
  for (const ThreadEnvFact& fact : machine.thread_env) {
    if (fact.limits) {
      limiting.push_back(&fact);
    } else {
      others.push_back(fact.name + "=" + fact.value);
    }
  }
  const char* label = "Thread env";
  for (std::size_t i = 0; i < limiting.size() && i < 2; ++i, label = "") {
    add(lines, label,
        fmt::format("{}={} binds: {}", limiting[i]->name, limiting[i]->value, limiting[i]->effect));
  }
  if (limiting.size() > 2) others.push_back(fmt::format("{} more that bind", limiting.size() - 2));
  if (!others.empty()) add(lines, label, "also set: " + join(others, ", "));
}

// What stays as it is; unknown parts are left out.
std::string lasting_text(const GpuFacts& gpu) {
  std::vector<std::string> parts;
  if (gpu.pcie_generation_most > 0) {
    std::string pcie = fmt::format("PCIe {} x{}", gpu.pcie_generation_most, gpu.pcie_width_most);
    if (gpu.pcie_generation > 0 && (gpu.pcie_generation != gpu.pcie_generation_most ||
                                    gpu.pcie_width != gpu.pcie_width_most)) {
      pcie += fmt::format(" (now {} x{})", gpu.pcie_generation, gpu.pcie_width);
    }
    parts.push_back(pcie);
  }
  if (gpu.nvlinks > 0) parts.push_back(fmt::format("{} NVLinks", gpu.nvlinks));
  if (gpu.numa >= 0) parts.push_back(fmt::format("NUMA node {}", gpu.numa));
  if (!gpu.near_cpus.empty()) parts.push_back("CPUs " + gpu.near_cpus);
  if (gpu.sm_clock_most_mhz > 0) parts.push_back(fmt::format("{} MHz", gpu.sm_clock_most_mhz));
  if (gpu.power_limit_watts > 0) parts.push_back(fmt::format("{:.0f} W", gpu.power_limit_watts));
  if (!gpu.ecc.empty()) parts.push_back("ECC " + gpu.ecc);
  if (!gpu.persistence.empty()) parts.push_back("persistence " + gpu.persistence);
  if (gpu.mig == "on") parts.push_back(fmt::format("MIG, {} slices", gpu.slices.size()));
  return join(parts, ", ");
}

// What it does at this moment; "" for nothing.
std::string work_text(const GpuFacts& gpu) {
  const std::size_t processes = gpu.pids.size() + gpu.drawing_pids.size();
  if (gpu.busy_percent <= 0 && processes == 0) return "";
  std::string text = fmt::format("{}, {} used", how_many(processes, "process"),
                                 format_bytes(gpu.memory_used_bytes));
  if (gpu.busy_percent > 0) text += fmt::format(", {} % busy", gpu.busy_percent);
  if (gpu.sm_clock_mhz > 0) text += fmt::format(", {} MHz", gpu.sm_clock_mhz);
  if (gpu.power_watts > 0) text += fmt::format(", {:.0f} W", gpu.power_watts);
  if (gpu.temperature_celsius > 0) text += fmt::format(", {} C", gpu.temperature_celsius);
  return text;
}

// A line for all that `text` tells alike, and no more lines than a screen has room for.
template <typename Text>
void add_alike(std::vector<std::string>& lines, const std::vector<GpuFacts>& gpus,
               const Text& text) {
  // How many kinds are listed is a guess.
  constexpr std::size_t kMaxKinds = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // text, numbers
  for (const GpuFacts& gpu : gpus) {
    const std::string told = text(gpu);
    if (told.empty()) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& one) { return one.first == told; });
    if (group == groups.end()) group = groups.insert(groups.end(), {told, {}});
    group->second.push_back(std::to_string(gpu.index));
  }
  for (std::size_t i = 0; i < groups.size() && i < kMaxKinds; ++i) {
    add(lines, "", join(groups[i].second, " ") + ": " + groups[i].first);
  }
  if (groups.size() > kMaxKinds) {
    add(lines, "", fmt::format("and {}: --json", how_many(groups.size() - kMaxKinds, "more kind")));
  }
}

// Equal GPUs are told once; the peer-to-peer state belongs to them.
void add_gpus(std::vector<std::string>& lines, const Machine& machine) {
  if (!machine.gpu_state.empty()) add(lines, "GPUs", machine.gpu_state);
  std::map<std::string, int> kinds;
  for (const GpuFacts& gpu : machine.gpus) {
    const bool known = gpu.memory_bytes > 0;
    ++kinds[known ? gpu.name + ", " + format_bytes(gpu.memory_bytes) : gpu.name];
  }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(fmt::format("{} x {}", count, kind));
  if (!texts.empty()) add(lines, "", join(texts, "; "));
  add_alike(lines, machine.gpus, lasting_text);
  add_alike(lines, machine.gpus, work_text);
  if (!machine.visible_gpus.empty() && machine.gpu_visibility.find('=') != std::string::npos) {
    std::vector<std::string> seen;
    for (const SeenGpu& gpu : machine.visible_gpus) {
      seen.push_back(fmt::format("{} is GPU {}", gpu.logical,
                                 gpu.physical < 0 ? "?" : std::to_string(gpu.physical)));
    }
    add(lines, "", fmt::format("{}: {}", machine.gpu_visibility, join(seen, ", ")));
  }
  std::vector<std::string> set;
  for (const SystemSetting& setting : machine.settings) {
    if (setting.name == "nccl_version") set.push_back("NCCL " + setting.value);
    if (!starts_with(setting.name, "NCCL_")) continue;
    set.push_back(fmt::format("{}={} ({})", setting.name, setting.value, setting.source));
  }
  if (!set.empty()) add(lines, "", join(set, ", "));
  if (machine.gpus.size() >= 2 && !machine.p2p.verdict.empty()) {
    add(lines, "",
        fmt::format("P2P {}: {} ('ocrtune p2p')", machine.p2p.verdict, machine.p2p.sentence));
  }
}

std::string rule_text(int value, const char* noun) {
  return value > 0 ? how_many(value, noun) : "unknown";
}

void add_rules(std::vector<std::string>& lines, const Machine& machine) {
  const RulesOfThumb& rules = machine.rules_of_thumb;
  add(lines, "Rules",
      fmt::format("half the memory in GB: {}; 60 % of the cores: {}; \"at most about {}\"",
                  rule_text(rules.memory_half, "process"),
                  rule_text(rules.cores_60_percent, "process"), rules.seven));
  const CpuFacts& cpu = machine.cpu;
  std::vector<std::string> limits;
  limits.push_back(cpu.usable_cpus.known() ? cpus_text(*cpu.usable_cpus.value) + " " +
                                                 noun_after(*cpu.usable_cpus.value, "usable CPU")
                                           : "usable CPUs unknown");
  limits.push_back(cpu.effective_cores.known()
                       ? fmt::format("{:.2f} effective cores", *cpu.effective_cores.value)
                       : "effective cores not measured");
  limits.push_back(machine.memory.available_bytes > 0
                       ? format_bytes(machine.memory.available_bytes) + " free memory"
                       : "free memory unknown");
  add(lines, "", "limits here: " + join(limits, ", "));
}

void add_recommendation(std::vector<std::string>& lines, const CautiousSetting& setting) {
  if (setting.nproc < 1) {
    add(lines, "Start with", setting.reasons.empty() ? "unknown" : setting.reasons.front());
    return;
  }
  std::string env;
  for (const auto& [name, value] : setting.env) env += " " + name + "=" + value;
  add(lines, "Start with",
      fmt::format("nproc={} threads={} workers={} binding={}{}", setting.nproc, setting.threads,
                  setting.workers, setting.binding, env));
  add(lines, "", "computed from the facts above, NOT measured; 'ocrtune tune' measures");
  for (const std::string& reason : setting.reasons) add(lines, "", "- " + reason);
}

// As many whole items as fit in `most` lines, then how many are left out.
void add_list(std::vector<std::string>& lines, const char* label,
              const std::vector<std::string>& items, std::size_t most) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::vector<std::string> wrapped = wrap(items[i]);
    const bool last = i + 1 == items.size();
    if (used + wrapped.size() + (last ? 0 : 1) > most) {
      add(lines, i == 0 ? label : "", fmt::format("{} more: --json lists them", items.size() - i));
      return;
    }
    for (const std::string& line : wrapped) add(lines, used++ == 0 ? label : "", line);
  }
}

}  // namespace

std::string machine_card(const Machine& machine, int width) {
  std::vector<std::string> lines;
  add(lines, "Machine", identity(machine));
  add_cpus(lines, machine);
  add_memory(lines, machine);
  add_environment(lines, machine);
  add_gpus(lines, machine);
  add_rules(lines, machine);
  add_recommendation(lines, machine.recommendation);
  // Two lines at least are left, so that a full card still says that there are warnings. A third
  // of the room, and at least a line, is kept for what is unknown.
  const std::size_t left = kMaxPageLines - std::min(kMaxPageLines - 2, lines.size());
  const std::size_t unknown = machine.unknowns.empty() ? 0 : std::max<std::size_t>(1, left / 3);
  const std::size_t before = lines.size();
  add_list(lines, "Warning", machine.warnings, left - unknown);
  add_list(lines, "Unknown", machine.unknowns, left - (lines.size() - before));
  std::string text;
  for (const std::string& line : lines) {
    const auto columns = static_cast<std::size_t>(width);
    const std::string told = line.substr(kMargin);
    const auto parts = line.size() > columns ? wrap(told, columns - kMargin) : std::vector{told};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      text += (i == 0 ? line.substr(0, kMargin) : std::string(kMargin, ' ')) +
              valid_utf8(parts[i]) + "\n";
    }
  }
  return text;
}

}  // namespace ocrtune
