// Names by a table, ranks by what the kernel says of the cores' capacity. The table needs a row for
// each new core; without one the number of the part is shown.
#include "probes/host/arm_cores.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

struct Implementer {
  int code;
  const char* name;
};

struct Part {
  int implementer, part;
  const char* name;
};

// Source: MIDR_EL1.Implementer in the Arm Architecture Reference Manual (DDI 0487).
constexpr Implementer kImplementers[] = {
    {0x41, "ARM"},       {0x42, "Broadcom"}, {0x43, "Cavium"}, {0x46, "Fujitsu"},
    {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},   {0x50, "APM"},    {0x51, "Qualcomm"},
    {0x53, "Samsung"},   {0x56, "Marvell"},  {0x61, "Apple"},  {0x69, "Intel"},
    {0x6d, "Microsoft"}, {0x70, "Phytium"},  {0xc0, "Ampere"}};

// Source: Linux, arch/arm64/include/asm/cputype.h, the cores' Technical Reference Manuals (Main ID
// Register), and of Phytium util-linux, sys-utils/lscpu-arm.c. What stands in brackets is the
// product in which the core is sold.
constexpr Part kParts[] = {{0x41, 0xd02, "Cortex-A34"},
                           {0x41, 0xd03, "Cortex-A53"},
                           {0x41, 0xd04, "Cortex-A35"},
                           {0x41, 0xd05, "Cortex-A55"},
                           {0x41, 0xd06, "Cortex-A65"},
                           {0x41, 0xd07, "Cortex-A57"},
                           {0x41, 0xd08, "Cortex-A72"},
                           {0x41, 0xd09, "Cortex-A73"},
                           {0x41, 0xd0a, "Cortex-A75"},
                           {0x41, 0xd0b, "Cortex-A76"},
                           {0x41, 0xd0c, "Neoverse-N1"},
                           {0x41, 0xd0d, "Cortex-A77"},
                           {0x41, 0xd0e, "Cortex-A76AE"},
                           {0x41, 0xd40, "Neoverse-V1"},
                           {0x41, 0xd41, "Cortex-A78"},
                           {0x41, 0xd42, "Cortex-A78AE"},
                           {0x41, 0xd44, "Cortex-X1"},
                           {0x41, 0xd46, "Cortex-A510"},
                           {0x41, 0xd47, "Cortex-A710"},
                           {0x41, 0xd48, "Cortex-X2"},
                           {0x41, 0xd49, "Neoverse-N2"},
                           {0x41, 0xd4a, "Neoverse-E1"},
                           {0x41, 0xd4b, "Cortex-A78C"},
                           {0x41, 0xd4d, "Cortex-A715"},
                           {0x41, 0xd4e, "Cortex-X3"},
                           {0x41, 0xd4f, "Neoverse-V2"},
                           {0x41, 0xd80, "Cortex-A520"},
                           {0x41, 0xd81, "Cortex-A720"},
                           {0x41, 0xd82, "Cortex-X4"},
                           {0x41, 0xd83, "Neoverse-V3AE"},
                           {0x41, 0xd84, "Neoverse-V3"},
                           {0x41, 0xd85, "Cortex-X925"},
                           {0x41, 0xd87, "Cortex-A725"},
                           {0x41, 0xd8e, "Neoverse-N3"},
                           {0x42, 0x516, "ThunderX2"},
                           {0x43, 0x0a1, "ThunderX"},
                           {0x43, 0x0a2, "ThunderX 81XX"},
                           {0x43, 0x0a3, "ThunderX 83XX"},
                           {0x43, 0x0af, "ThunderX2"},
                           {0x46, 0x001, "A64FX"},
                           {0x48, 0xd01, "TaiShan v110 (Kunpeng 920)"},
                           {0x48, 0xd02, "TaiShan v120 (Kunpeng 920B)"},
                           {0x4e, 0x003, "Denver 2"},
                           {0x4e, 0x004, "Carmel"},
                           {0x50, 0x000, "X-Gene"},
                           {0x51, 0x001, "Oryon"},
                           {0x51, 0x800, "Falkor"},
                           {0x51, 0x803, "Kryo 3XX Silver"},
                           {0x51, 0x804, "Kryo 4XX Gold"},
                           {0x51, 0x805, "Kryo 4XX Silver"},
                           {0x51, 0xc00, "Falkor"},
                           {0x61, 0x022, "M1 Icestorm"},
                           {0x61, 0x023, "M1 Firestorm"},
                           {0x61, 0x024, "M1 Pro Icestorm"},
                           {0x61, 0x025, "M1 Pro Firestorm"},
                           {0x61, 0x028, "M1 Max Icestorm"},
                           {0x61, 0x029, "M1 Max Firestorm"},
                           {0x61, 0x032, "M2 Blizzard"},
                           {0x61, 0x033, "M2 Avalanche"},
                           {0x61, 0x034, "M2 Pro Blizzard"},
                           {0x61, 0x035, "M2 Pro Avalanche"},
                           {0x61, 0x038, "M2 Max Blizzard"},
                           {0x61, 0x039, "M2 Max Avalanche"},
                           {0x6d, 0xd49, "Azure Cobalt 100"},
                           {0x70, 0x303, "FTC310 (Phytium)"},
                           {0x70, 0x660, "FTC660 (Phytium)"},
                           {0x70, 0x661, "FTC661 (Phytium)"},
                           {0x70, 0x662, "FTC662 (Phytium)"},
                           {0x70, 0x663, "FTC663 (Phytium)"},
                           {0x70, 0x664, "FTC664 (Phytium)"},
                           {0x70, 0x862, "FTC862 (Phytium)"},
                           {0xc0, 0xac3, "Ampere-1"},
                           {0xc0, 0xac4, "Ampere-1a"}};

// "0xd0c" -> 3340; -1: no such number.
int hex_number(const std::string& text) {
  if (!starts_with(text, "0x") || text.size() < 3 || text.size() > 6) return -1;
  int number = 0;
  for (const char c : lower(text.substr(2))) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return -1;
    number = number * 16 + static_cast<int>(digit);
  }
  return number;
}

// What the kernel says of a CPU's speed beside the others, 1024 for the fastest; 0: nothing.
int capacity_of(const FileRoot& root, int cpu) {
  const auto text = root.read(fmt::format("/sys/devices/system/cpu/cpu{}/cpu_capacity", cpu));
  const auto number = text ? parse_integer(trim(*text)) : Result<std::int64_t>(0);
  return number && *number > 0 && *number < 1 << 20 ? static_cast<int>(*number) : 0;
}

}  // namespace

std::string arm_core_name(const std::string& implementer, const std::string& part) {
  const int maker = hex_number(implementer);
  const int number = hex_number(part);
  if (maker < 0 || number < 0) return "";
  for (const Part& row : kParts) {
    if (row.implementer == maker && row.part == number) return row.name;
  }
  for (const Implementer& row : kImplementers) {
    if (row.code == maker) return fmt::format("{} part {}", row.name, part);
  }
  return fmt::format("implementer {} part {}", implementer, part);
}

bool is_small_arm_core(const std::string& name) {
  static const std::set<std::string> kSmall = {"Cortex-A34", "Cortex-A35",  "Cortex-A53",
                                               "Cortex-A55", "Cortex-A510", "Cortex-A520"};
  return kSmall.count(name) != 0;
}

std::vector<CpuKind> read_arm_cores(const FileRoot& root) {
  std::vector<CpuKind> kinds;
  int cpu = -1;
  std::string implementer;
  for (const std::string& line : split(root.read("/proc/cpuinfo").value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key(trim(line.substr(0, colon)));
    const std::string value(trim(line.substr(colon + 1)));
    if (key == "processor") cpu = static_cast<int>(parse_integer(value).value_or(-1));
    // In /proc/cpuinfo the implementer stands before the part of each processor.
    if (key == "CPU implementer") implementer = value;
    if (key != "CPU part" || cpu < 0) continue;
    const std::string name = arm_core_name(implementer, value);
    if (name.empty()) continue;
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const CpuKind& one) { return one.model == name; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), CpuKind{name, {}});
    kind->cpus = kind->cpus.unite(CpuSet({cpu}));
  }
  return kinds;
}

std::vector<CpuKind> cpu_kinds(const FileRoot& root, const CpuFacts& cpu) {
  const std::vector<CpuKind> named = read_arm_cores(root);
  const auto name_of = [&](int id) {
    for (const CpuKind& kind : named) {
      if (kind.cpus.contains(id)) return kind.model;
    }
    return cpu.model;
  };
  std::map<std::pair<int, std::string>, CpuKind> groups;
  std::map<std::pair<int, std::string>, int> capacities;
  for (const CpuPlace& place : cpu.places) {
    const std::pair key(place.kind, name_of(place.cpu));
    groups[key].model = key.second;
    groups[key].cpus = groups[key].cpus.unite(CpuSet({place.cpu}));
    capacities[key] = std::max(capacities[key], capacity_of(root, place.cpu));
  }
  std::vector<std::tuple<int, int, std::string>> order;  // ascending: fastest first
  // Negated, so that an ascending sort puts the fastest first.
  for (const auto& [key, kind] : groups)
    order.emplace_back(-key.first, -capacities[key], key.second);
  std::sort(order.begin(), order.end());
  std::vector<CpuKind> kinds;
  for (const auto& [rank, capacity, name] : order) kinds.push_back(groups[{-rank, name}]);
  if (kinds.size() < 2) kinds.clear();
  return kinds;
}

}  // namespace ocrtune
