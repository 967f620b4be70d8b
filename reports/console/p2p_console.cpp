// The cards are in English alone and are not wrapped. Labels stand in a margin of 12 columns, as
// on the machine card.
#include "reports/console/p2p_console.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxPairsNamed = 6;

void add(std::string& text, const char* label, const std::string& line) {
  text += fmt::format("{:<12}{}\n", label, valid_utf8(line));
}

void add_list(std::string& text, const char* label, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    add(text, label, item);
    label = "";
  }
}

std::string link_text(const GpuFacts& gpu) {
  std::string text;
  if (gpu.pcie_generation_most > 0) {
    text += fmt::format(", PCIe {} x{}", gpu.pcie_generation_most, gpu.pcie_width_most);
  }
  if (gpu.nvlinks > 0) text += fmt::format(", {} NVLinks", gpu.nvlinks);
  if (gpu.numa >= 0) text += fmt::format(", NUMA node {}", gpu.numa);
  return text;
}

void add_gpus(std::string& text, const Machine& machine) {
  add(text, "GPUs", machine.gpu_state);
  for (const GpuFacts& gpu : machine.gpus) {
    add(text, "",
        fmt::format("{}: {}, {}{}{}", gpu.index, gpu.name, format_bytes(gpu.memory_bytes),
                    link_text(gpu), gpu.mig == "on" ? ", MIG" : ""));
  }
}

// Pairs of the same verdict and evidence are told once: 56 lines of an 8-GPU box say no more.
void add_pairs(std::string& text, const P2pVerdict& verdict) {
  struct Alike {
    std::vector<std::string> names;
    const P2pPairVerdict* first = nullptr;
  };
  std::map<std::string, Alike> groups;
  for (const P2pPairVerdict& pair : verdict.pairs) {
    // The verdict's number comes first in the key, so that the map keeps the order of the enum.
    const std::string key =
        fmt::format("{}|{}", static_cast<int>(pair.verdict), join(pair.evidence, "|"));
    Alike& group = groups[key];
    group.names.push_back(fmt::format("{}>{}", pair.from, pair.to));
    if (group.first == nullptr) group.first = &pair;
  }
  const char* label = "Pairs";
  for (const auto& [key, group] : groups) {
    std::vector<std::string> named = group.names;
    const std::size_t count = named.size();
    if (count > kMaxPairsNamed) named.resize(kMaxPairsNamed);
    std::string names = join(named, " ");
    if (count > kMaxPairsNamed) names += fmt::format(" and {} more", count - kMaxPairsNamed);
    add(text, label, fmt::format("{} ({})", p2p_class_name(group.first->verdict), names));
    label = "";
    for (const std::string& evidence : group.first->evidence) add(text, "", "- " + evidence);
  }
}

}  // namespace

std::string p2p_card(const P2pVerdict& verdict, const Machine& machine) {
  std::string text;
  add_gpus(text, machine);
  add_pairs(text, verdict);
  add_list(text, "Evidence", verdict.evidence);
  add(text, "Verdict",
      fmt::format("{}, confidence {}: {}", p2p_class_name(verdict.verdict), verdict.confidence,
                  verdict.sentence));
  if (machine.gpus.size() >= 2) {
    std::string env;
    for (const auto& [name, value] : verdict.env)
      env += (env.empty() ? "" : " ") + name + "=" + value;
    add(text, "Set", env.empty() ? "nothing" : env);
  }
  if (!verdict.proof.empty()) add(text, "Proof", verdict.proof);
  add_list(text, "Hints", verdict.hints);
  add_list(text, "Not checked", verdict.not_checked);
  return text;
}

std::string sweep_card(const SweepAnswer& sweep) {
  std::string text;
  const char* label = "Sweep";
  for (const SweepRow& row : sweep.rows) {
    if (row.result == StepResult::not_run) continue;
    const std::string told =
        row.step_seconds.empty()
            ? row.detail
            : fmt::format(
                  "step {}, x{:.3f}{}", format_duration(median(row.step_seconds)),
                  row.speedup.median,
                  row.env_proved ? "" : " (the log does not show the setting: not counted)");
    add(text, label, fmt::format("{:<18}{}", row.setting.name, told));
    label = "";
  }
  add(text, "Best", sweep.sentence);
  // Row 0 is the base of the sweep: nothing needs to be set for it.
  if (sweep.best != 0) {
    for (const auto& [name, value] : sweep.rows[static_cast<std::size_t>(sweep.best)].setting.env) {
      add(text, "", "export " + name + "=" + value);
    }
  }
  add_list(text, "Warning", sweep.warnings);
  return text;
}

}  // namespace ocrtune
