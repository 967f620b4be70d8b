#include "probes/host/container.h"

#include "base/text.h"

namespace ocrtune {
namespace {

struct Mark {
  const char* word;
  const char* name;
};

// First match wins: a Kubernetes pod runs in Docker or containerd.
constexpr Mark kCgroupMarks[] = {{"kubepods", "kubernetes"},   {"libpod", "podman"},
                                 {"docker", "docker"},         {"lxc", "lxc"},
                                 {"containerd", "containerd"}, {"slurm", "slurm"}};

constexpr Mark kVendorMarks[] = {{"QEMU", "kvm"},
                                 {"KVM", "kvm"},
                                 {"Amazon EC2", "kvm"},
                                 {"Google", "kvm"},
                                 {"Alibaba", "kvm"},
                                 {"Tencent", "kvm"},
                                 {"VMware", "vmware"},
                                 {"Microsoft Corporation", "hyper-v"},
                                 {"Xen", "xen"},
                                 {"innotek", "virtualbox"},
                                 {"Parallels", "parallels"}};

Fact<std::string> known(std::string value, std::string source) {
  return {std::move(value), std::move(source)};
}

std::string first_line_of(const FileRoot& root, const char* path) {
  const std::string text = root.read(path).value_or("");
  return std::string(trim(text.substr(0, text.find('\n'))));
}

bool has_hypervisor_flag(const std::string& cpuinfo) {
  const std::size_t flags = cpuinfo.find("\nflags");
  if (flags == std::string::npos) return false;
  const std::size_t end = cpuinfo.find('\n', flags + 1);
  const std::string line = cpuinfo.substr(flags, end - flags) + " ";
  return line.find(" hypervisor ") != std::string::npos;
}

}  // namespace

Fact<std::string> read_container(const FileRoot& root, const Environment& environment) {
  const std::string named = environment_value(environment, "container");
  if (environment.count("KUBERNETES_SERVICE_HOST") != 0) {
    return known("kubernetes", "KUBERNETES_SERVICE_HOST");
  }
  if (!named.empty()) return known(named, "the variable container");
  if (root.exists("/run/.containerenv")) return known("podman", "/run/.containerenv");
  const std::string cgroup = root.read("/proc/self/cgroup").value_or("");
  for (const Mark& mark : kCgroupMarks) {
    if (cgroup.find(mark.word) != std::string::npos) return known(mark.name, "/proc/self/cgroup");
  }
  if (root.exists("/.dockerenv")) return known("docker", "/.dockerenv");
  if (environment.count("SLURM_JOB_ID") != 0) return known("slurm", "SLURM_JOB_ID");
  if (!cgroup.empty()) return known("none", "no mark of a container found");
  return {std::nullopt, "/proc/self/cgroup cannot be read"};
}

Fact<std::string> read_virtual_machine(const FileRoot& root) {
  const std::string vendor = first_line_of(root, "/sys/class/dmi/id/sys_vendor");
  const std::string product = first_line_of(root, "/sys/class/dmi/id/product_name");
  const std::string cpuinfo = root.read("/proc/cpuinfo").value_or("");
  const bool flagged = has_hypervisor_flag(cpuinfo);
  const std::string hypervisor = first_line_of(root, "/sys/hypervisor/type");
  if (!hypervisor.empty()) return known(hypervisor, "/sys/hypervisor/type");
  for (const Mark& mark : kVendorMarks) {
    const bool vendor_matches = vendor.find(mark.word) != std::string::npos;
    const bool product_matches = product.find(mark.word) != std::string::npos;
    // Some vendors also sell bare machines: their name counts only with the CPU's flag.
    if (flagged && (vendor_matches || product_matches)) return known(mark.name, "DMI");
  }
  if (flagged) return known("virtual machine", "the CPU's hypervisor flag");
  if (cpuinfo.find("\nflags") != std::string::npos) return known("none", "no hypervisor flag");
  return {std::nullopt, "neither a hypervisor flag nor CPU flags in /proc/cpuinfo"};
}

}  // namespace ocrtune
