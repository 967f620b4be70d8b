// A short table says what limits a launch; all facts with their sources are folded below it, and
// the drawing of the cores with them. Everything of the machine passes sentence_html().
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/figures/figures.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string unknown_html(const std::string& reason) {
  return "<span class=\"unknown\">" + say("unknown") + "</span>" +
         (reason.empty() ? "" : " " + machine_text(reason));
}

void add_row(Rows& rows, const std::string& phrase, const std::string& value_html,
             const std::string& source) {
  rows.push_back({say(phrase), value_html, sentence_html(source)});
}

void add_text(Rows& rows, const std::string& phrase, const std::string& value) {
  add_row(rows, phrase, value.empty() ? unknown_html("") : sentence_html(value), "");
}

template <typename T, typename Show>
void add_fact(Rows& rows, const std::string& phrase, const Fact<T>& fact, Show show) {
  if (fact.known()) {
    add_row(rows, phrase, sentence_html(show(*fact.value)), fact.source);
  } else {
    rows.push_back({say(phrase), unknown_html(""), sentence_html(fact.source)});
  }
}

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }

std::string gpu_text(const GpuFacts& gpu) {
  return gpu.memory_bytes == 0 ? gpu.name : gpu.name + ", " + format_bytes(gpu.memory_bytes);
}

std::string limits_html(const std::vector<Limit>& limits, bool bytes) {
  std::vector<std::string> parts;
  for (const Limit& limit : limits) {
    parts.push_back((bytes ? bytes_text(limit.value) : fmt::format("{:g}", limit.value)) + " (" +
                    sentence_html(limit.limited_by) + ")");
  }
  return join(parts, ", ");
}

Rows cpu_rows(const CpuFacts& cpu) {
  Rows rows;
  add_text(rows, "Processor", cpu.model);
  add_row(rows, "Counted",
          say("packages: {}, NUMA nodes: {}, L3 groups: {}, cores: {}, logical CPUs: {}",
              {fmt::format("{}", cpu.packages), fmt::format("{}", cpu.numa_nodes),
               fmt::format("{}", cpu.l3_groups), fmt::format("{}", cpu.physical_cores),
               fmt::format("{}", cpu.logical_cpus)}),
          "hwloc");
  add_fact(rows, "Usable CPUs", cpu.usable_cpus, [](double v) { return fmt::format("{:g}", v); });
  if (!cpu.limits.empty()) add_row(rows, "All CPU limits", limits_html(cpu.limits, false), "");
  add_fact(rows, "Effective cores", cpu.effective_cores,
           [](double v) { return fmt::format("{:.2f}", v); });
  add_text(rows, "Instruction sets", join(cpu.isa, " "));
  add_fact(rows, "Native bf16", cpu.native_bf16,
           [](bool v) { return std::string(v ? "yes" : "no"); });
  add_fact(rows, "Frequency governor", cpu.governor, [](const std::string& v) { return v; });
  return rows;
}

Rows memory_rows(const Machine& machine) {
  const MemoryFacts& memory = machine.memory;
  Rows rows;
  add_row(rows, "Memory",
          say("{}, {} available", {html_text(format_bytes(memory.total_bytes)),
                                   html_text(format_bytes(memory.available_bytes))}),
          "/proc/meminfo");
  add_fact(rows, "Memory limit", memory.limit_bytes, bytes_text);
  if (memory.limits.size() > 1) {
    add_row(rows, "All memory limits", limits_html(memory.limits, true), "");
  }
  add_fact(rows, "Memory bandwidth", memory.bandwidth_bytes_per_second,
           [](double v) { return fmt::format("{:.1f} GB/s", v / 1e9); });
  add_fact(rows, "/dev/shm", memory.shm_bytes, format_bytes);
  for (const SystemSetting& setting : machine.settings) {
    // This takes in "memory_node_bandwidth" too.
    if (starts_with(setting.name, "memory_node")) {
      add_row(rows, "NUMA node", sentence_html(setting.value), setting.source);
    }
  }
  add_row(rows, "Swap", html_text(format_bytes(memory.swap_total_bytes)), "/proc/meminfo");
  add_fact(rows, "Huge pages", memory.transparent_hugepages,
           [](const std::string& v) { return v; });
  return rows;
}

Rows system_rows(const Machine& machine) {
  Rows rows;
  add_text(rows, "Host", machine.host);
  add_text(rows, "System", machine.os);
  add_text(rows, "Kernel", machine.kernel);
  add_fact(rows, "Container", machine.container, [](const std::string& v) { return v; });
  add_fact(rows, "Virtual machine", machine.virtual_machine,
           [](const std::string& v) { return v; });
  add_text(rows, "GPUs", machine.gpu_state);
  for (const GpuFacts& gpu : machine.gpus) {
    rows.push_back({fmt::format("GPU {}", gpu.index),
                    machine_text(fmt::format("{}, {}", gpu_text(gpu), gpu.pci_bus_id)),
                    machine_text(gpu.uuid)});
  }
  for (const auto& [name, value] : machine.ulimits) {
    rows.push_back({sentence_html("ulimit " + name), sentence_html(value), ""});
  }
  add_text(rows, "Fingerprint", machine.fingerprint);
  return rows;
}

std::string thread_env_table(const std::vector<ThreadEnvFact>& facts) {
  if (facts.empty()) return "";
  Rows rows;
  for (const ThreadEnvFact& fact : facts) {
    rows.push_back({"<code>" + html_text(fact.name + "=" + fact.value, 400) + "</code>",
                    sentence_html(fact.effect), fact.limits ? say("yes") : say("no")});
  }
  return table_html({"Variable", "Effect", "Binds below the usable CPUs"}, rows);
}

std::string remarks(const std::string& phrase, const std::vector<std::string>& texts,
                    const char* css) {
  if (texts.empty()) return "";
  std::string items;
  for (const std::string& text : texts) items += "<li>" + sentence_html(text) + "</li>";
  return fmt::format("<div class=\"remarks {}\"><h3>{}</h3><ul>{}</ul></div>\n", css, say(phrase),
                     items);
}

// The last one of the recommended setting; null: there is none.
const Trial* trial_of_answer(const RunRecord& run) {
  if (!run.result.found) return nullptr;
  for (auto trial = run.trials.rbegin(); trial != run.trials.rend(); ++trial) {
    if (trial->ok() && trial->knobs == run.result.recommendation.knobs) return &*trial;
  }
  return nullptr;
}

// The CPUs that its ranks had.
std::string placement_of_answer(const RunRecord& run) {
  const Trial* trial = trial_of_answer(run);
  return trial == nullptr ? "" : trial->placement;
}

// What each host said of it: memory, CPUs, and where the time of a step went.
std::string hosts_table(const RunRecord& run) {
  const Trial* trial = trial_of_answer(run);
  if (trial == nullptr) return "";
  Rows rows;
  for (const std::string& line : trial->evidence) {
    for (const std::string& host : run.job.command_job().hosts) {
      if (!starts_with(line, host + ": ")) continue;
      rows.push_back({machine_text(host), machine_text(line.substr(host.size() + 2))});
    }
  }
  return rows.empty() ? "" : table_html({"Host", "With the recommended setting"}, rows, "facts");
}

std::string links_table(const Machine& machine) {
  Rows rows;
  for (const std::string& line : machine.links) {
    const std::size_t colon = line.find(": ");
    rows.push_back({machine_text(line.substr(0, colon)),
                    machine_text(colon == line.npos ? "" : line.substr(colon + 2))});
  }
  return rows.empty() ? "" : table_html({"Network, one way", "Before the trials"}, rows, "facts");
}

}  // namespace

std::string machine_section(const RunRecord& run) {
  const Machine& machine = run.machine;
  const std::vector<std::string> headings = {"Fact", "Value", "From"};
  const auto known = [](const auto& fact, const char* format) {
    return fact.known() ? fmt::format(fmt::runtime(format), *fact.value) : say("unknown");
  };
  Rows short_rows;
  add_row(short_rows, "Processor",
          machine_text(machine.cpu.model) + "; " +
              say("{} usable {0:CPU|CPUs}, {} effective cores",
                  {known(machine.cpu.usable_cpus, "{:g}"),
                   known(machine.cpu.effective_cores, "{:.2f}")}),
          "");
  const Fact<double>& limit = machine.memory.limit_bytes;
  add_row(
      short_rows, "Memory",
      say("{}, limit {}", {html_text(format_bytes(machine.memory.total_bytes)),
                           limit.known() ? html_text(bytes_text(*limit.value)) : say("unknown")}),
      "");
  if (!run.job.command_job().hosts.empty()) {  // of which `machine` is what each has at least
    const std::string hosts = join(run.job.command_job().hosts, ", ");
    add_row(short_rows, "Hosts",
            machine_text(fmt::format("{} ({})", hosts, run.job.command_job().launcher)), "");
  }
  std::vector<std::string> gpus;
  for (const GpuFacts& gpu : machine.gpus) gpus.push_back(gpu_text(gpu));
  if (gpus.empty()) gpus.push_back(machine.gpu_state);
  add_row(short_rows, "GPUs", sentence_html(join(gpus, "; ")), "");
  // The short table has no column for the source.
  for (auto& row : short_rows) row.pop_back();
  // Those of a disturbed run stand beside its verdict.
  std::string body = is_disturbed(run) ? "" : remarks("Warnings", machine.warnings, "warning");
  body +=
      table_html({"Fact", "Value"}, short_rows, "facts") + hosts_table(run) + links_table(machine);
  std::string details = topology_figure(machine, placement_of_answer(run));
  details += "<div class=\"columns\">" + table_html(headings, cpu_rows(machine.cpu), "facts") +
             table_html(headings, memory_rows(machine), "facts") +
             table_html(headings, system_rows(machine), "facts") + "</div>\n";
  details += thread_env_table(machine.thread_env);
  details += remarks("Unknown", machine.unknowns, "neutral");
  return section_html("machine", "Machine",
                      body + details_html("All facts, limits and versions", details));
}

}  // namespace ocrtune
