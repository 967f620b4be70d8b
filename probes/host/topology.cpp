// hwloc is asked first. What it does not see is corrected from /sys: CPUs that lxcfs numbers anew,
// nodes without memory, kinds of Intel and ARM cores. It is steered by its environment variables,
// which are put back after each load.
#include "probes/host/topology.h"

#include <hwloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "probes/host/arm_cores.h"
#include "probes/host/memory_nodes.h"

namespace ocrtune {
namespace {

// Everything that would open a GPU or a display in this process.
constexpr const char* kUnwanted[] = {"cuda", "nvml", "opencl", "gl", "levelzero", "rsmi"};

using Handle = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Result<Handle> begin() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return Error{ErrorKind::failed, "hwloc does not start"};
  for (const char* name : kUnwanted) {
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
  }
  // CPUs outside this process's cpuset too: the card shows the machine, and limits are read apart.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return Handle(topology, hwloc_topology_destroy);
}

// Sets variables (or, without a value, clears them) for the time of one load: hwloc takes the
// folder of a saved machine from there, and the user's own overrides must not turn this machine
// into another.
class ScopedVariables {
 public:
  using Variable = std::pair<const char*, std::optional<std::string>>;

  ScopedVariables(std::initializer_list<Variable> variables) {
    for (const auto& [name, value] : variables) {
      const char* old = std::getenv(name);
      before_.emplace_back(name, old == nullptr ? std::optional<std::string>() : old);
      set(name, value);
    }
  }
  ~ScopedVariables() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;

 private:
  static void set(const char* name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name, value->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }

  std::vector<Variable> before_;
};

int ancestor_index(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return found == nullptr ? -1 : static_cast<int>(found->logical_index);
}

int numa_index(hwloc_topology_t topology, hwloc_obj_t pu) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (node->cpuset != nullptr && hwloc_bitmap_isset(node->cpuset, pu->os_index) != 0) {
      return static_cast<int>(node->os_index);
    }
  }
  return -1;
}

// 0 for the slowest kind; hwloc orders kinds by efficiency, fastest last, or says -1 when it
// cannot.
int kind_index(hwloc_topology_t topology, hwloc_obj_t pu) {
  const int kind = hwloc_cpukinds_get_by_cpuset(topology, pu->cpuset, 0);
  if (kind < 0) return 0;
  int efficiency = -1;
  if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr, &efficiency, nullptr,
                              nullptr, 0) != 0) {
    return 0;
  }
  return efficiency > 0 ? efficiency : 0;
}

// The cache that the most CPUs share: L3 where there is one, else L2 of a cluster.
hwloc_obj_type_t shared_cache(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE) > 0 ? HWLOC_OBJ_L3CACHE
                                                                   : HWLOC_OBJ_L2CACHE;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int objects = hwloc_get_nbobjs_by_type(topology, type);
  return objects < 0 ? 0 : objects;
}

CpuPlace place_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  CpuPlace place;
  place.cpu = static_cast<int>(pu->os_index);
  place.core = ancestor_index(topology, pu, HWLOC_OBJ_CORE);
  place.l3 = ancestor_index(topology, pu, shared_cache(topology));
  place.numa = numa_index(topology, pu);
  place.package = ancestor_index(topology, pu, HWLOC_OBJ_PACKAGE);
  place.smt_index = place.core >= 0 ? static_cast<int>(pu->sibling_rank) : 0;
  place.kind = kind_index(topology, pu);
  return place;
}

void fill_caches(hwloc_topology_t topology, Topology& out) {
  const hwloc_obj_type_t type = shared_cache(topology);
  out.l3_groups = count(topology, HWLOC_OBJ_L3CACHE);
  hwloc_obj_t cache = nullptr;
  while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr) {
    const std::uint64_t bytes = cache->attr->cache.size;
    if (out.l3_bytes_each == 0 || bytes < out.l3_bytes_each) out.l3_bytes_each = bytes;
  }
}

// Nodes of memory alone (HBM, CXL, a GPU's) are no places for a rank.
int nodes_with_cpus(const std::vector<CpuPlace>& places) {
  std::set<int> nodes;
  for (const CpuPlace& place : places) {
    if (place.numa >= 0) nodes.insert(place.numa);
  }
  return static_cast<int>(nodes.size());
}

std::string cpu_model(hwloc_topology_t topology) {
  hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  if (package == nullptr) package = hwloc_get_root_obj(topology);
  const char* model = hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "" : std::string(trim(model));
}

Result<Topology> load(hwloc_topology_t topology, const std::string& source) {
  if (hwloc_topology_load(topology) != 0) {
    return Error{ErrorKind::invalid, source + ": hwloc cannot build a topology from it"};
  }
  Topology out;
  out.source = source;
  out.live = hwloc_topology_is_thissystem(topology) != 0;
  out.packages = count(topology, HWLOC_OBJ_PACKAGE);
  out.physical_cores = count(topology, HWLOC_OBJ_CORE);
  out.logical_cpus = count(topology, HWLOC_OBJ_PU);
  if (out.physical_cores == 0) out.physical_cores = out.logical_cpus;
  std::set<int> kinds;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    out.places.push_back(place_of(topology, pu));
    kinds.insert(out.places.back().kind);
  }
  out.cpu_kinds = static_cast<int>(kinds.size());
  out.numa_nodes = nodes_with_cpus(out.places);
  fill_caches(topology, out);
  out.cpu_model = cpu_model(topology);
  return out;
}

// Of any CPU: the first one may be off.
bool has_topology(const FileRoot& root) {
  const std::string folder = "/sys/devices/system/cpu";
  const auto names = root.list(folder);
  if (!names) return false;
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    return starts_with(name, "cpu") && root.exists(folder + "/" + name + "/topology");
  });
}

Result<Topology> load_tree(hwloc_topology_t topology, const FileRoot& root) {
  if (!has_topology(root)) {
    return Error{ErrorKind::missing,
                 root.path("/sys/devices/system/cpu") + ": the saved tree has no CPU topology"};
  }
  // "stop" keeps out every other component: the x86 one would ask this machine's CPU.
  const ScopedVariables tree({{"HWLOC_FSROOT", root.path("/")},
                              {"HWLOC_COMPONENTS", "linux,stop"},
                              {"HWLOC_THISSYSTEM", "0"}});
  return load(topology, "hwloc, /sys of the saved tree");
}

// hwloc follows null pointers of some damaged files, so that a child reads the file first.
bool hwloc_can_read(const std::string& xml) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Ends a read that goes on for ever.
    ::alarm(10);
    const auto topology = begin();
    const bool read = topology && hwloc_topology_set_xml(topology->get(), xml.c_str()) == 0 &&
                      hwloc_topology_load(topology->get()) == 0;
    ::_exit(read ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<Topology> load_description(hwloc_topology_t topology, const std::string& description) {
  if (path_exists(description)) {
    if (is_directory(description)) {
      return Error{ErrorKind::usage,
                   fmt::format("{} is a folder; --topology takes an XML file, --root a saved tree",
                               description)};
    }
    if (!hwloc_can_read(description) ||
        hwloc_topology_set_xml(topology, description.c_str()) != 0) {
      return Error{ErrorKind::invalid, description + ": not a hwloc XML file"};
    }
    return load(topology, "hwloc, XML " + description);
  }
  if (description.find(':') == std::string::npos || ends_with(description, ".xml")) {
    return Error{ErrorKind::missing, description + ": No such file"};
  }
  if (hwloc_topology_set_synthetic(topology, description.c_str()) != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("'{}' is not a topology; try 'pack:2 numa:1 core:8 pu:2' or a hwloc "
                             "XML file",
                             description)};
  }
  return load(topology, "hwloc, synthetic '" + description + "'");
}

CpuSet read_cpus(const FileRoot& root, const std::string& path) {
  const auto list = CpuSet::parse(trim(root.read(path).value_or("")));
  return list ? *list : CpuSet();
}

// The place that this set of CPUs has among those seen so far, in their order.
int place_among(std::vector<CpuSet>& seen, const CpuSet& cpus) {
  const auto at = std::find(seen.begin(), seen.end(), cpus);
  const auto index = static_cast<int>(at - seen.begin());
  if (at == seen.end()) seen.push_back(cpus);
  return index;
}

// lxcfs numbers a container's CPUs from 0 in the list of those that are online, while the kernel
// and the folders of single CPUs go by the host's numbers: the allowed ones are read one by one.
void read_renumbered(const FileRoot& root, Topology& topology) {
  const std::string status = root.read("/proc/self/status").value_or("");
  const auto listed = CpuSet::parse(status_value(status, "Cpus_allowed_list").value_or(""));
  const std::string folder = "/sys/devices/system/cpu/cpu";
  std::vector<int> there;
  for (const int cpu : listed ? listed->cpus() : std::vector<int>()) {
    if (root.exists(fmt::format("{}{}/topology", folder, cpu))) there.push_back(cpu);
  }
  if (CpuSet(there).minus(topology.cpus()).empty()) return;
  std::vector<CpuSet> cores, caches;
  std::vector<int> packages;
  topology.places.clear();
  for (const int cpu : there) {
    const std::string own = folder + std::to_string(cpu);
    CpuPlace place;
    place.cpu = cpu;
    CpuSet siblings = read_cpus(root, own + "/topology/thread_siblings_list");
    if (siblings.empty()) siblings = CpuSet({cpu});
    place.core = place_among(cores, siblings);
    const auto& threads = siblings.cpus();
    place.smt_index = static_cast<int>(std::ranges::find(threads, cpu) - threads.begin());
    const CpuSet shared = read_cpus(root, own + "/cache/index3/shared_cpu_list");
    place.l3 = shared.empty() ? -1 : place_among(caches, shared);
    const auto package =
        parse_integer(trim(root.read(own + "/topology/physical_package_id").value_or("")));
    packages.push_back(package ? static_cast<int>(*package) : 0);
    place.package = packages.back();
    topology.places.push_back(place);
  }
  topology.source += ", CPUs by the kernel's numbers";
  topology.packages = static_cast<int>(std::set<int>(packages.begin(), packages.end()).size());
  topology.physical_cores = static_cast<int>(cores.size());
  topology.l3_groups = static_cast<int>(caches.size());
  topology.logical_cpus = static_cast<int>(there.size());
  topology.cpu_kinds = 1;
}

// Where hwloc sees one kind of core, Intel's two performance-counter folders may know two.
void read_intel_kinds(const FileRoot& root, Topology& topology) {
  const auto fast = CpuSet::parse(trim(root.read("/sys/devices/cpu_core/cpus").value_or("")));
  const auto slow = CpuSet::parse(trim(root.read("/sys/devices/cpu_atom/cpus").value_or("")));
  if (topology.cpu_kinds > 1 || !fast || !slow || fast->empty() || slow->empty()) return;
  for (CpuPlace& place : topology.places) place.kind = fast->contains(place.cpu) ? 1 : 0;
  topology.cpu_kinds = 2;
}

// hwloc leaves out nodes without memory, which still are where their CPUs are.
void read_nodes(const FileRoot& root, Topology& topology) {
  const std::vector<MemoryNode> nodes = read_memory_nodes(root);
  for (CpuPlace& place : topology.places) {
    for (const MemoryNode& node : nodes) {
      if (node.cpus.contains(place.cpu)) place.numa = node.node;
    }
  }
  topology.numa_nodes = nodes_with_cpus(topology.places);
}

// Cores of one part are of one kind, though their clocks and so their capacities differ a little:
// that of the fastest of them. Where the kernel says no speeds, ARM's small cores are the slow
// ones.
void rank_arm_cores(const FileRoot& root, Topology& topology) {
  const std::vector<CpuKind> parts = read_arm_cores(root);
  if (parts.empty()) return;
  const bool told = topology.cpu_kinds > 1;
  for (const CpuKind& part : parts) {
    int fastest = told || is_small_arm_core(part.model) ? -1 : 1;
    for (const CpuPlace& place : topology.places) {
      if (told && part.cpus.contains(place.cpu)) fastest = std::max(fastest, place.kind);
    }
    for (CpuPlace& place : topology.places) {
      if (part.cpus.contains(place.cpu)) place.kind = fastest;
    }
  }
  std::set<int> kinds;
  for (const CpuPlace& place : topology.places) kinds.insert(place.kind);
  for (CpuPlace& place : topology.places) {
    place.kind = static_cast<int>(std::distance(kinds.begin(), kinds.find(place.kind)));
  }
  topology.cpu_kinds = static_cast<int>(kinds.size());
}

}  // namespace

CpuSet Topology::cpus() const {
  std::vector<int> ids;
  ids.reserve(places.size());
  for (const CpuPlace& place : places) ids.push_back(place.cpu);
  return CpuSet(std::move(ids));
}

Result<Topology> read_topology(const FileRoot& root, const std::string& description) {
  const ScopedVariables plain({{"HWLOC_HIDE_ERRORS", "2"},
                               {"HWLOC_SYNTHETIC", std::nullopt},
                               {"HWLOC_XMLFILE", std::nullopt},
                               {"HWLOC_FSROOT", std::nullopt},
                               {"HWLOC_COMPONENTS", std::nullopt},
                               {"HWLOC_THISSYSTEM", std::nullopt}});
  auto topology = OCRTUNE_TRY(begin());
  if (!description.empty()) return load_description(topology.get(), description);
  auto found = root.is_live() ? load(topology.get(), "hwloc, this machine")
                              : load_tree(topology.get(), root);
  if (!found) return found;
  // First, for the others find CPUs by the kernel's numbers; ranks of ARM cores need the kinds.
  read_renumbered(root, *found);
  read_nodes(root, *found);
  read_intel_kinds(root, *found);
  rank_arm_cores(root, *found);
  return found;
}

}  // namespace ocrtune
