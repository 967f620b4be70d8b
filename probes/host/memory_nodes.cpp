// Three sources bind a process to nodes: cpusets, its inherited policy, and the words of a command.
// Each is a set of nodes, and bind_memory() intersects them; its size becomes a limit only where it
// leaves out a node that has memory.
#include "probes/host/memory_nodes.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/cgroups.h"
#include "probes/host/command_mask.h"

namespace ocrtune {
namespace {

constexpr const char* kNodes = "/sys/devices/system/node";

std::optional<CpuSet> read_list(const FileRoot& root, const std::string& path) {
  const auto text = root.read(path);
  const auto list = text ? CpuSet::parse(*text) : Result<CpuSet>(CpuSet());
  if (!list || list->empty()) return std::nullopt;
  return *list;
}

// "00000000,0000000f" as the kernel writes masks: the highest word first.
CpuSet parse_mask(std::string_view text) {
  std::vector<int> cpus;
  int base = 0;
  auto hex_words = split(trim(text), ',');
  std::reverse(hex_words.begin(), hex_words.end());
  for (const std::string& word : hex_words) {
    std::uint32_t bits = 0;
    for (const char c : word) {
      const auto digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return {};
      bits = bits << 4 | static_cast<std::uint32_t>(digit);
    }
    for (int bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) != 0) cpus.push_back(base + bit);
    }
    base += 32;
  }
  return CpuSet(std::move(cpus));
}

CpuSet cpus_of(const FileRoot& root, const std::string& folder) {
  if (const auto text = root.read(folder + "/cpulist")) {
    const auto list = CpuSet::parse(*text);
    if (list) return *list;
  }
  const auto mask = root.read(folder + "/cpumap");
  return mask ? parse_mask(*mask) : CpuSet();
}

// "Node 0 MemTotal:       65847000 kB" -> bytes; the counts of huge pages have no unit.
std::uint64_t node_bytes(const std::string& text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 4 || fields[2] != std::string(key) + ":") continue;
    const auto number = parse_integer(fields[3]);
    if (!number || *number < 0 || *number > (1LL << 50)) return 0;
    return static_cast<std::uint64_t>(*number) * (fields.size() > 4 ? 1024 : 1);
  }
  return 0;
}

// Of every size: nodeN/hugepages/hugepages-1048576kB/nr_hugepages.
std::uint64_t huge_bytes(const FileRoot& root, const std::string& folder) {
  std::uint64_t bytes = 0;
  const auto sizes = root.list(folder + "/hugepages");
  if (!sizes) return 0;
  for (const std::string& name : *sizes) {
    if (!starts_with(name, "hugepages-") || !ends_with(name, "kB")) continue;
    const auto kib = parse_integer(std::string_view(name).substr(10, name.size() - 12));
    const auto text = root.read(folder + "/hugepages/" + name + "/nr_hugepages");
    const auto count = text ? parse_integer(trim(*text)) : Result<std::int64_t>(0);
    if (!kib || !count || *kib < 0 || *count < 0 || *kib > (1 << 26)) continue;
    bytes += static_cast<std::uint64_t>(*kib) * 1024 * static_cast<std::uint64_t>(*count);
  }
  return bytes;
}

MemoryNode read_node(const FileRoot& root, int number) {
  MemoryNode node;
  node.node = number;
  const std::string folder = fmt::format("{}/node{}", kNodes, number);
  const std::string meminfo = root.read(folder + "/meminfo").value_or("");
  node.total_bytes = node_bytes(meminfo, "MemTotal");
  // The kernel tells no MemAvailable for single nodes. Inactive page cache and half of the slabs
  // that can be given back are counted as free, a cautious guess.
  node.free_bytes = node_bytes(meminfo, "MemFree") + node_bytes(meminfo, "Inactive(file)") +
                    node_bytes(meminfo, "SReclaimable") / 2;
  node.free_bytes = std::min(node.free_bytes, node.total_bytes);
  node.huge_pages_bytes = huge_bytes(root, folder);
  node.cpus = cpus_of(root, folder);
  for (const std::string& word : words(root.read(folder + "/distance").value_or(""))) {
    const auto distance = parse_integer(word);
    if (distance) node.distances.push_back(static_cast<int>(*distance));
  }
  return node;
}

// "bind:1", "bind=static:0-1" of a line of numa_maps: the nodes.
std::optional<CpuSet> bind_of_line(const std::string& line) {
  const auto fields = words(line);
  if (fields.size() < 2 || !starts_with(fields[1], "bind")) return std::nullopt;
  const std::size_t colon = fields[1].find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto nodes = CpuSet::parse(fields[1].substr(colon + 1));
  if (!nodes || nodes->empty()) return std::nullopt;
  return *nodes;
}

// The policy that children inherit. The policies of single mappings are not theirs.
std::optional<CpuSet> own_policy() {
  constexpr int kBind = 2;  // MPOL_BIND; the low byte is the mode, flags lie above
  constexpr std::size_t kMaxNodes = 1024;
  std::array<unsigned long, kMaxNodes / (8 * sizeof(unsigned long))> mask{};
  int mode = 0;
  if (::syscall(SYS_get_mempolicy, &mode, mask.data(), kMaxNodes, nullptr, 0UL) != 0 ||
      (mode & 0xff) != kBind) {
    return std::nullopt;
  }
  std::vector<int> nodes;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  for (std::size_t i = 0; i < kMaxNodes; ++i) {
    if ((mask[i / kBits] >> i % kBits & 1) != 0) nodes.push_back(static_cast<int>(i));
  }
  if (nodes.empty()) return std::nullopt;
  return CpuSet(std::move(nodes));
}

CpuSet numbers_of(const std::vector<MemoryNode>& nodes) {
  std::vector<int> numbers;
  for (const MemoryNode& node : nodes) numbers.push_back(node.node);
  return CpuSet(std::move(numbers));
}

// What numactl takes for nodes: "0,1", "0-1", "!1", "+0" (counted among the allowed), "all".
std::optional<CpuSet> parse_nodes(std::string_view text, const std::vector<MemoryNode>& nodes) {
  const CpuSet there = numbers_of(nodes);
  if (text == "all") return there;
  const bool inverse = starts_with(text, "!");
  const bool relative = starts_with(text, "+");
  const auto list = CpuSet::parse(text.substr(inverse || relative ? 1 : 0));
  if (!list || list->empty()) return std::nullopt;
  if (inverse) return there.minus(*list);
  if (!relative) return *list;
  std::vector<int> allowed;
  for (const MemoryNode& node : nodes) {
    if (node.allowed) allowed.push_back(node.node);
  }
  std::vector<int> chosen;
  for (const int index : list->cpus()) {
    if (static_cast<std::size_t>(index) >= allowed.size()) return std::nullopt;
    chosen.push_back(allowed[static_cast<std::size_t>(index)]);
  }
  return CpuSet(std::move(chosen));
}

}  // namespace

std::vector<MemoryNode> read_memory_nodes(const FileRoot& root) {
  std::vector<MemoryNode> nodes;
  const auto names = root.list(kNodes);
  if (!names) return nodes;
  for (const std::string& name : *names) {
    const auto number =
        starts_with(name, "node") ? parse_integer(name.substr(4)) : Result<std::int64_t>(-1);
    if (number && *number >= 0 && *number < 4096) {
      nodes.push_back(read_node(root, static_cast<int>(*number)));
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const MemoryNode& a, const MemoryNode& b) { return a.node < b.node; });
  return nodes;
}

std::vector<NodeSet> memory_bindings(const FileRoot& root) {
  std::vector<NodeSet> sets;
  if (const auto path = cgroup_path(root, "cpuset")) {
    const char* effective = path->version == 2 ? "cpuset.mems.effective" : "cpuset.effective_mems";
    for (const CgroupLevel& level : path->levels) {
      auto nodes = read_list(root, level.folder + "/" + effective);
      if (!nodes) nodes = read_list(root, level.folder + "/cpuset.mems");
      if (nodes) sets.push_back({*nodes, "cpuset.mems of " + level.name});
    }
  }
  const std::string status = root.read("/proc/self/status").value_or("");
  if (const auto allowed = status_value(status, "Mems_allowed_list")) {
    const auto nodes = CpuSet::parse(*allowed);
    if (nodes && !nodes->empty()) sets.push_back({*nodes, "Mems_allowed_list"});
  }
  const auto policy = root.is_live() ? own_policy() : bound_by_policy(root, "self");
  if (policy) sets.push_back({*policy, "memory policy bind:" + policy->text()});
  return sets;
}

std::vector<MemoryNode> allowed_memory_nodes(const FileRoot& root) {
  MemoryFacts memory;
  auto nodes = read_memory_nodes(root);
  for (const NodeSet& bound : memory_bindings(root)) bind_memory(bound, nodes, memory);
  return nodes;
}

std::optional<CpuSet> binding_nodes(const FileRoot& root) {
  std::vector<int> left;
  bool takes = false;
  for (const MemoryNode& node : allowed_memory_nodes(root)) {
    if (node.allowed) left.push_back(node.node);
    takes = takes || (!node.allowed && node.total_bytes > 0);
  }
  if (!takes) return std::nullopt;
  return CpuSet(std::move(left));
}

std::uint64_t free_bytes_of(const FileRoot& root, const CpuSet& nodes) {
  std::uint64_t free = 0;
  for (const int number : nodes.cpus()) free += read_node(root, number).free_bytes;
  return free;
}

std::optional<CpuSet> bound_by_policy(const FileRoot& root, const std::string& process) {
  const std::string path = root.path("/proc/" + process + "/numa_maps");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  // One read of a few lines: a read of the whole file would walk every page of the process.
  std::array<char, 2048> text{};
  const ssize_t got = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  if (got <= 0) return std::nullopt;
  const auto lines = split(std::string_view(text.data(), static_cast<std::size_t>(got)), '\n');
  return bind_of_line(lines.front());
}

std::optional<CpuSet> bound_by_words(const std::vector<std::string>& command,
                                     const std::vector<MemoryNode>& nodes) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (base_name(command[i]) == "numactl") {
      const auto value = numactl_value(command, i, {"--membind", "-m"});
      if (const auto bound = value ? parse_nodes(*value, nodes) : std::nullopt) return bound;
    }
    if (i > 0 && command[i - 1] == "-c" && command[i].find("numactl") != std::string::npos) {
      if (const auto bound = bound_by_words(words(command[i]), nodes)) return bound;
    }
  }
  return std::nullopt;
}

bool sets_memory_policy(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (base_name(command[i]) == "numactl") return true;
    if (i > 0 && command[i - 1] == "-c" && sets_memory_policy(words(command[i]))) return true;
  }
  return false;
}

MemoryFacts memory_of(MemoryFacts memory, std::vector<MemoryNode> nodes,
                      const std::vector<std::string>& command) {
  const auto bound = bound_by_words(command, nodes);
  if (!bound) return memory;
  bind_memory({*bound, "numactl --membind"}, nodes, memory);
  settle_limit(memory);
  return memory;
}

std::vector<SystemSetting> node_settings(const std::vector<MemoryNode>& nodes) {
  std::vector<SystemSetting> settings;
  if (nodes.size() < 2) return settings;
  for (const MemoryNode& node : nodes) {
    std::string text = fmt::format("node {}: {}, {} free, ", node.node,
                                   format_bytes(node.total_bytes), format_bytes(node.free_bytes));
    text += node.cpus.empty() ? "no CPUs" : "CPUs " + node.cpus.text();
    if (!node.allowed && node.total_bytes > 0) text += ", not allowed here";
    if (!node.distances.empty())
      text += fmt::format("; distances {}", fmt::join(node.distances, " "));
    settings.push_back({"memory_node", text, fmt::format("{}/node{}", kNodes, node.node)});
  }
  return settings;
}

void settle_limit(MemoryFacts& facts) {
  std::stable_sort(facts.limits.begin(), facts.limits.end(),
                   [](const Limit& a, const Limit& b) { return a.value < b.value; });
  if (facts.limits.empty()) return;
  facts.limit_bytes = {facts.limits.front().value, facts.limits.front().limited_by};
  const auto least = static_cast<std::uint64_t>(facts.limits.front().value);
  facts.available_bytes = std::min(facts.available_bytes, least);
}

void bind_memory(const NodeSet& bound, std::vector<MemoryNode>& nodes, MemoryFacts& memory) {
  std::uint64_t total = 0, free = 0, huge = 0;
  bool takes = false;
  std::vector<int> with_memory;
  for (MemoryNode& node : nodes) {
    const bool in = bound.nodes.contains(node.node);
    takes = takes || (node.allowed && !in && node.total_bytes > 0);
    node.allowed = node.allowed && in;
    if (!node.allowed || node.total_bytes == 0) continue;
    with_memory.push_back(node.node);
    total += node.total_bytes - std::min(node.huge_pages_bytes, node.total_bytes);
    huge += node.huge_pages_bytes;
    free += node.free_bytes;
  }
  if (!takes || total == 0) return;
  const CpuSet left(std::move(with_memory));
  std::string words = fmt::format("node{} {}", left.count() == 1 ? "" : "s", left.text());
  if (huge > 0) words += fmt::format(" less {} of reserved huge pages", format_bytes(huge));
  memory.limits.push_back(
      {static_cast<double>(total), fmt::format("{} ({})", words, bound.source)});
  if (memory.available_bytes > 0) memory.available_bytes = std::min(memory.available_bytes, free);
}

}  // namespace ocrtune
