// The NUMA nodes and which of them a process started here may have memory of.
//
// A process whose memory is bound to some nodes (cpuset.mems, numactl --membind) is killed when
// those are full, however much the others have. MemTotal and every control group's memory.max say
// nothing of it. Sources: cpuset(7), set_mempolicy(2), numa(7), numactl(8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct MemoryNode {
  int node = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;        // free, or clean page cache
  std::uint64_t huge_pages_bytes = 0;  // reserved as huge pages, which no ordinary process gets
  CpuSet cpus;                         // that are near it; empty: HBM, CXL, a GPU's memory
  bool allowed = true;                 // a process started here may have it
  std::vector<int> distances;          // to each node in turn, as the firmware says; 10: its own
};

// Every node with its CPUs, memory and distances, all of them allowed; empty without /sys.
std::vector<MemoryNode> read_memory_nodes(const FileRoot& root);

// A set of nodes, and what names it: "cpuset.mems of /job7", "Mems_allowed_list".
struct NodeSet {
  CpuSet nodes;
  std::string source;
};

// Every set that binds a process started here: cpusets of all levels, Mems_allowed_list, and the
// memory policy that it would inherit.
std::vector<NodeSet> memory_bindings(const FileRoot& root);

// The nodes, with `allowed` as all bindings together leave them.
std::vector<MemoryNode> allowed_memory_nodes(const FileRoot& root);
// The nodes that bindings leave, where they leave out one that has memory.
std::optional<CpuSet> binding_nodes(const FileRoot& root);
// What is free on these nodes, or clean page cache; for the moment.
std::uint64_t free_bytes_of(const FileRoot& root, const CpuSet& nodes);

// The memory policy of a process, where it binds: "bind:1" of its /proc/PID/numa_maps. Only the
// first mappings are read (of the program itself), because the kernel walks the pages of each.
std::optional<CpuSet> bound_by_policy(const FileRoot& root, const std::string& process);

// The nodes to which the words of a command bind the memory of what it starts: numactl --membind=1,
// -m 1, in front of the program or inside of `sh -c`. `nodes`: those that there are.
std::optional<CpuSet> bound_by_words(const std::vector<std::string>& command,
                                     const std::vector<MemoryNode>& nodes);

// numactl stands in the words: the program needs the calls that set a memory policy.
bool sets_memory_policy(const std::vector<std::string>& command);

// Leaves only the nodes of `bound` allowed, and adds the limit where that takes memory away.
void bind_memory(const NodeSet& bound, std::vector<MemoryNode>& nodes, MemoryFacts& memory);
// Sorts the limits; the least one becomes the limit, and no more than that is available.
void settle_limit(MemoryFacts& memory);
// The memory as a command has it whose words bind it.
MemoryFacts memory_of(MemoryFacts memory, std::vector<MemoryNode> nodes,
                      const std::vector<std::string>& command);

// A row for each node, where there are several: size, room, CPUs, distances.
std::vector<SystemSetting> node_settings(const std::vector<MemoryNode>& nodes);

}  // namespace ocrtune
