// Everything here is read from files and from the card; no driver is touched. What cannot be read
// stays unknown and is told as such, for "no" would be taken for a pass.
#include "probes/p2p/p2p_static.h"

#include <cstdint>
#include <optional>

#include "base/text.h"
#include "probes/gpu/link_speed.h"

namespace ocrtune {
namespace {

void read_conf(const FileRoot& root, const std::string& path, Environment& settings,
               Environment* files) {
  for (const std::string& line : split(root.read(path).value_or(""), '\n')) {
    const std::string_view content = trim(std::string_view(line).substr(0, line.find('#')));
    const std::size_t equals = content.find('=');
    if (!starts_with(content, "NCCL_") || equals == std::string_view::npos) continue;
    const std::string name(trim(content.substr(0, equals)));
    settings[name] = std::string(trim(content.substr(equals + 1)));
    if (files != nullptr) (*files)[name] = path;
  }
}

std::uint32_t word_at(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// Request or completion redirect in a bridge's ACS control register; nothing when unreadable.
std::optional<bool> redirects(const std::string& config) {
  // PCI Express Base Specification: extended capabilities from 0x100 on, each header with the next
  // one's offset in its upper 12 bits; ACS has the control register at 6, redirect bits 2 and 3.
  constexpr std::size_t kExtended = 0x100;
  constexpr std::uint32_t kAcsCapability = 0x000D;
  constexpr std::uint32_t kRedirectBits = 0x0C;
  if (config.size() < kExtended + 4) return std::nullopt;
  std::size_t at = kExtended;
  // A bound, for a broken list may lead back to itself.
  for (int hops = 0; hops < 64 && at >= kExtended && at + 8 <= config.size(); ++hops) {
    const std::uint32_t header = word_at(config, at, 4);
    if ((header & 0xFFFF) == kAcsCapability) {
      return (word_at(config, at + 6, 2) & kRedirectBits) != 0;
    }
    at = header >> 20;
  }
  return false;
}

bool is_bridge(const FileRoot& root, const std::string& folder) {
  // The class of PCI-to-PCI bridges.
  return starts_with(trim(root.read(folder + "/class").value_or("")), "0x0604");
}

// Of the first processor.
CpuMaker read_cpu_maker(const FileRoot& root) {
  CpuMaker cpu;
  for (const std::string& line : split(root.read("/proc/cpuinfo").value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (trim(line).empty() && !cpu.vendor.empty()) break;
    if (colon == std::string::npos) continue;
    const std::string_view name = trim(std::string_view(line).substr(0, colon));
    const std::string value(trim(std::string_view(line).substr(colon + 1)));
    if (name == "vendor_id") cpu.vendor = value;
    if (name == "cpu family") cpu.family = static_cast<int>(parse_integer(value).value_or(0));
    if (name == "model") cpu.model = static_cast<int>(parse_integer(value).value_or(0));
  }
  return cpu;
}

Tri yes_or_no(const std::string& status) {
  if (status.empty()) return Tri::unknown;
  return status == "ok" ? Tri::yes : Tri::no;
}

const GpuFacts* gpu_of(const Machine& machine, int index) {
  for (const GpuFacts& gpu : machine.gpus) {
    if (gpu.index == index) return &gpu;
  }
  return nullptr;
}

P2pPairFacts pair_of(const Machine& machine, const CpuMaker& cpu, const GpuLink& link) {
  P2pPairFacts pair;
  pair.from = link.from;
  pair.to = link.to;
  pair.level = link.level;
  pair.nvlink = link.nvlink;
  pair.driver_read = yes_or_no(link.read);
  pair.driver_write = yes_or_no(link.write);
  const GpuFacts* from = gpu_of(machine, link.from);
  const GpuFacts* to = gpu_of(machine, link.to);
  if (from != nullptr && to != nullptr) {
    pair.expected_bytes_per_second = expected_link_bytes_per_second(*from, *to, link.nvlink);
    pair.expected_bytes_per_second =
        bounded_by_cpu(pair.expected_bytes_per_second, cpu, link.nvlink ? "NVL" : link.level);
  }
  return pair;
}

}  // namespace

Tri read_iommu_translates(const FileRoot& root) {
  const auto groups = root.list("/sys/kernel/iommu_groups");
  if (!groups) return Tri::unknown;
  if (groups->empty()) return Tri::no;
  bool any = false;
  for (const std::string& group : *groups) {
    const auto type = root.read("/sys/kernel/iommu_groups/" + group + "/type");
    if (!type) continue;
    any = true;
    if (starts_with(*type, "DMA")) return Tri::yes;  // "DMA", "DMA-FQ"; passthrough is "identity"
  }
  return any ? Tri::no : Tri::unknown;
}

Tri read_acs_redirects(const FileRoot& root) {
  const auto devices = root.list("/sys/bus/pci/devices");
  if (!devices) return Tri::unknown;
  // "no" needs every bridge to be read; one that redirects is enough for "yes".
  bool unreadable = false;
  bool any = false;
  for (const std::string& device : *devices) {
    const std::string folder = "/sys/bus/pci/devices/" + device;
    if (!is_bridge(root, folder)) continue;
    const auto answer = redirects(root.read(folder + "/config").value_or(""));
    if (answer && *answer) return Tri::yes;
    unreadable = unreadable || !answer;
    any = true;
  }
  return unreadable || !any ? Tri::unknown : Tri::no;
}

Environment read_nccl_settings(const FileRoot& root, const Environment& environment,
                               Environment* files) {
  Environment settings;
  read_conf(root, "/etc/nccl.conf", settings, files);
  const std::string named = environment_value(environment, "NCCL_CONF_FILE");
  const std::string home = environment_value(environment, "HOME");
  if (!named.empty()) {
    read_conf(root, named, settings, files);
  } else if (!home.empty()) {
    read_conf(root, home + "/.nccl.conf", settings, files);
  }
  // Read last, for the environment wins over both files.
  for (const auto& [name, value] : environment) {
    if (!starts_with(name, "NCCL_")) continue;
    settings[name] = value;
    if (files != nullptr) files->erase(name);
  }
  return settings;
}

P2pFacts static_p2p_facts(const Machine& machine, const FileRoot& root,
                          const Environment& environment) {
  P2pFacts facts;
  facts.gpus = static_cast<int>(machine.gpus.size());
  for (const GpuFacts& gpu : machine.gpus) {
    facts.gpu_names.push_back(gpu.name);
    facts.driver_version = gpu.driver;
  }
  const CpuMaker cpu = read_cpu_maker(root);
  for (const GpuLink& link : machine.gpu_links) facts.pairs.push_back(pair_of(machine, cpu, link));
  facts.cuda_driver_version = machine.cuda_driver_version;
  facts.iommu_translates = read_iommu_translates(root);
  facts.acs_redirects = read_acs_redirects(root);
  if (machine.virtual_machine.known()) {
    facts.virtual_machine = *machine.virtual_machine.value == "none" ? Tri::no : Tri::yes;
  }
  facts.shm_bytes = machine.memory.shm_bytes.value_or(0);
  facts.nccl_settings = read_nccl_settings(root, environment, &facts.nccl_files);
  return facts;
}

P2pSummary p2p_summary(const P2pVerdict& verdict) {
  P2pSummary summary;
  summary.verdict = p2p_class_name(verdict.verdict);
  summary.sentence = verdict.sentence;
  summary.confidence = verdict.confidence;
  summary.env = verdict.env;
  summary.evidence = verdict.evidence;
  summary.not_checked = verdict.not_checked;
  summary.hints = verdict.hints;
  return summary;
}

}  // namespace ocrtune
