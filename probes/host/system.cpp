// What is known by a word in a file is a row of a table, and the code only goes through the rows.
// All of it is read from files, so that a saved machine gives the same answer. Only the
// architecture of a live one is asked by uname.
#include "probes/host/system.h"

#include <sys/utsname.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/host/allocators.h"
#include "probes/host/arm_cores.h"
#include "probes/host/cgroups.h"

namespace ocrtune {
namespace {

struct Mark {
  const char* word;
  const char* name;
};

// First match wins: a Kubernetes pod runs in Docker or containerd.
constexpr Mark kCgroupMarks[] = {
    {"kubepods", "kubernetes"},   {"libpod", "podman"}, {"docker", "docker"}, {"lxc", "lxc"},
    {"containerd", "containerd"}, {"/ecs/", "ecs"},     {"slurm", "slurm"}};

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

struct FileMark {
  const char* path;
  const char* word;  // "": that the file is there says it
  const char* name;
};

// Where there is neither DMI nor a flag of the CPU: what firmware and hypervisor tell the kernel.
constexpr FileMark kHypervisorMarks[] = {
    {"/proc/device-tree/hypervisor/compatible", "kvm", "kvm"},
    {"/proc/device-tree/hypervisor/compatible", "xen", "xen"},
    {"/proc/device-tree/compatible", "qemu,pseries", "kvm"},
    {"/proc/device-tree/compatible", "riscv-virtio", "kvm"},
    {"/proc/device-tree/compatible", "linux,dummy-virt", "virtual machine"},
    {"/proc/device-tree/ibm,partition-name", "", "powervm"},
    {"/proc/sysinfo", "KVM/Linux", "kvm"},
    {"/proc/sysinfo", "z/VM", "z/vm"}};

Fact<std::string> known(std::string value, std::string source) {
  return {std::move(value), std::move(source)};
}

bool has_hypervisor_flag(const std::string& cpuinfo) {
  const std::size_t flags = cpuinfo.find("\nflags");
  if (flags == std::string::npos) return false;
  const std::size_t end = cpuinfo.find('\n', flags + 1);
  const std::string line = cpuinfo.substr(flags, end - flags) + " ";
  return line.find(" hypervisor ") != std::string::npos;
}

// Google's DMI says the same of both.
bool may_be_bare(const std::string& vendor, const std::string& product) {
  return product.find("metal") != std::string::npos || vendor == "Google" ||
         (vendor == "Microsoft Corporation" && product != "Virtual Machine");
}

// What an engine gave to its first process, which hands it on to few: "lxc".
std::string container_of_init(const FileRoot& root) {
  const std::string first = std::string(1, '\0') + root.read("/proc/1/environ").value_or("");
  const std::string key = std::string(1, '\0') + "container=";
  const std::size_t at = first.find(key);
  if (at == std::string::npos) return "";
  return std::string(trim(first.substr(at + key.size()).c_str()));
}

std::string first_line(const FileRoot& root, const std::string& path) {
  const std::string text = root.read(path).value_or("");
  return std::string(trim(text.substr(0, text.find('\n'))));
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" -> the words.
std::string os_name(const FileRoot& root) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    for (const std::string& line : split(root.read(path).value_or(""), '\n')) {
      if (!starts_with(line, "PRETTY_NAME=")) continue;
      std::string name(trim(line.substr(12)));
      if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
        name = name.substr(1, name.size() - 2);
      }
      return name;
    }
  }
  return "";
}

// The first value under a key of /proc/cpuinfo; "" when it has none.
std::string cpuinfo_value(const FileRoot& root, std::string_view key) {
  for (const std::string& line : split(root.read("/proc/cpuinfo").value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trim(std::string_view(line).substr(0, colon)) != key)
      continue;
    return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

struct ArchitectureMark {
  const char* key;
  const char* value;
  const char* name;
};

// How a saved /proc/cpuinfo shows whose it is.
constexpr ArchitectureMark kArchitectureMarks[] = {{"CPU architecture", "8", "aarch64"},
                                                   {"CPU architecture", "AArch64", "aarch64"},
                                                   {"CPU architecture", "7", "armv7l"},
                                                   {"vendor_id", "IBM/S390", "s390x"},
                                                   {"vendor_id", "GenuineIntel", "x86_64"},
                                                   {"vendor_id", "AuthenticAMD", "x86_64"},
                                                   {"vendor_id", "HygonGenuine", "x86_64"},
                                                   {"vendor_id", "Shanghai", "x86_64"},
                                                   {"vendor_id", "CentaurHauls", "x86_64"},
                                                   {"cpu", "POWER", "ppc64le"},
                                                   {"isa", "rv64", "riscv64"},
                                                   {"CPU Family", "Loongson", "loongarch64"},
                                                   {"cpu model", "Loongson", "mips64"}};

struct SettingRow {
  const char* name;
  const char* path;
};

constexpr SettingRow kSettings[] = {
    {"numa_balancing", "/proc/sys/kernel/numa_balancing"},
    {"clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"smt_control", "/sys/devices/system/cpu/smt/control"},
    {"isolated_cpus", "/sys/devices/system/cpu/isolated"},
    {"offline_cpus", "/sys/devices/system/cpu/offline"},
    {"no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"boost", "/sys/devices/system/cpu/cpufreq/boost"},
    {"sve_default_vector_bytes", "/proc/sys/abi/sve_default_vector_length"},
    {"thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag"},
    {"huge_pages", "/proc/sys/vm/nr_hugepages"},
    {"swappiness", "/proc/sys/vm/swappiness"},
    {"threads_max", "/proc/sys/kernel/threads-max"},
    {"dmesg_restrict", "/proc/sys/kernel/dmesg_restrict"},
};

// "some avg10=0.12 avg60=... total=..." -> 0.12, in percent of the last ten seconds.
std::optional<double> pressure_percent(const std::string& text) {
  const std::size_t at = text.find("some avg10=");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t start = at + 11;
  const auto number = parse_number(text.substr(start, text.find(' ', start) - start));
  if (!number) return std::nullopt;
  return *number;
}

void read_pressure(const FileRoot& root, std::vector<SystemSetting>& settings, Notes& notes) {
  bool any = false;
  for (const char* what : {"cpu", "memory", "io"}) {
    const std::string path = fmt::format("/proc/pressure/{}", what);
    const auto percent = pressure_percent(root.read(path).value_or(""));
    if (!percent) continue;
    any = true;
    settings.push_back({fmt::format("pressure_{}_percent", what), format_count(*percent), path});
    if (root.is_live() && *percent > 10) {
      notes.warnings.push_back(fmt::format(
          "tasks waited for {} during {:.0f} % of the last 10 s: the machine is busy, and figures "
          "measured now come out low",
          what, *percent));
    }
  }
  if (!any) notes.unknowns.emplace_back("pressure (PSI): /proc/pressure cannot be read");
}

// How often a quota has stopped our own cgroup; a sign that too many threads were started.
void read_throttling(const FileRoot& root, std::vector<SystemSetting>& settings) {
  const auto path = cgroup_path(root, "cpu");
  if (!path) return;
  const std::string file = path->levels.front().folder + "/cpu.stat";
  for (const std::string& line : split(root.read(file).value_or(""), '\n')) {
    const auto fields = words(line);
    if (fields.size() == 2 && fields[0] == "nr_throttled" && fields[1] != "0") {
      settings.push_back({"times_throttled", fields[1], file});
    }
  }
}

}  // namespace

SystemIdentity read_identity(const FileRoot& root) {
  return {first_line(root, "/proc/sys/kernel/hostname"),
          first_line(root, "/proc/sys/kernel/osrelease"), os_name(root)};
}

std::string read_architecture(const FileRoot& root) {
  utsname name{};
  if (root.is_live() && ::uname(&name) == 0) return name.machine;
  const std::string told = first_line(root, "/proc/sys/kernel/arch");  // since Linux 6.1
  if (!told.empty()) return told;
  for (const ArchitectureMark& mark : kArchitectureMarks) {
    if (cpuinfo_value(root, mark.key).find(mark.value) != std::string::npos) return mark.name;
  }
  return "";
}

std::string read_cpu_model(const FileRoot& root) {
  for (const char* key : {"model name", "Model Name", "cpu model", "cpu", "uarch"}) {
    const std::string value = cpuinfo_value(root, key);
    if (!value.empty()) return value;
  }
  // Of a processor with several kinds of core the fastest gives its name: the last one, as
  // firmware numbers big.LITTLE.
  const std::vector<CpuKind> cores = read_arm_cores(root);
  return cores.empty() ? "" : cores.back().model;
}

Fact<std::string> read_governor(const FileRoot& root) {
  const std::string path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
  const std::string governor = first_line(root, path);
  if (governor.empty()) return {std::nullopt, path + " is not there (usual in virtual machines)"};
  return {governor, path};
}

std::vector<SystemSetting> read_settings(const FileRoot& root, Notes& notes) {
  std::vector<SystemSetting> settings;
  for (const SettingRow& row : kSettings) {
    const std::string value = first_line(root, row.path);
    if (!value.empty()) settings.push_back({row.name, value.substr(0, 200), row.path});
  }
  settings.push_back({"allocators", join(installed_allocators(root), ", "), "libraries"});
  if (settings.back().value.empty()) settings.pop_back();
  read_pressure(root, settings, notes);
  read_throttling(root, settings);
  return settings;
}

Fact<std::string> read_container(const FileRoot& root, const Environment& environment) {
  const std::string named = environment_value(environment, "container");
  // From the surest mark to the vaguest. "wsl" is left out: that is a virtual machine.
  if (environment.count("KUBERNETES_SERVICE_HOST") != 0) {
    return known("kubernetes", "KUBERNETES_SERVICE_HOST");
  }
  if (!named.empty()) return known(named, "the variable container");
  if (root.exists("/run/.containerenv")) return known("podman", "/run/.containerenv");
  const std::string manager = first_line(root, "/run/systemd/container");
  if (!manager.empty() && manager != "wsl") return known(manager, "/run/systemd/container");
  const std::string given = container_of_init(root);
  if (!given.empty() && given != "wsl") return known(given, "/proc/1/environ");
  const std::string cgroup = root.read("/proc/self/cgroup").value_or("");
  for (const Mark& mark : kCgroupMarks) {
    if (cgroup.find(mark.word) != std::string::npos) return known(mark.name, "/proc/self/cgroup");
  }
  if (root.exists("/.dockerenv")) return known("docker", "/.dockerenv");
  if (environment.count("SLURM_JOB_ID") != 0) return known("slurm", "SLURM_JOB_ID");
  const auto groups = cgroup_path(root, "memory");
  // No engine has left a mark, but a process of the host would see the whole hierarchy.
  if (groups && groups->levels.back().name != "/") {
    return known("container", "a part of the control groups is mounted");
  }
  if (!cgroup.empty()) return known("none", "no mark of a container found");
  return {std::nullopt, "/proc/self/cgroup cannot be read"};
}

Fact<std::string> read_virtual_machine(const FileRoot& root) {
  const std::string vendor = first_line(root, "/sys/class/dmi/id/sys_vendor");
  const std::string product = first_line(root, "/sys/class/dmi/id/product_name");
  const std::string cpuinfo = root.read("/proc/cpuinfo").value_or("");
  const bool flagged = has_hypervisor_flag(cpuinfo);
  const bool lists_flags = cpuinfo.find("\nflags") != std::string::npos;
  const std::string kernel = first_line(root, "/proc/sys/kernel/osrelease");
  // Before DMI and the CPU's flag, which know no WSL.
  if (kernel.find("WSL2") != std::string::npos) return known("WSL 2", "/proc/sys/kernel/osrelease");
  const std::string hypervisor = first_line(root, "/sys/hypervisor/type");
  if (!hypervisor.empty()) return known(hypervisor, "/sys/hypervisor/type");
  for (const FileMark& mark : kHypervisorMarks) {
    const auto text = root.read(mark.path);
    if (text && text->find(mark.word) != std::string::npos) return known(mark.name, mark.path);
  }
  for (const Mark& mark : kVendorMarks) {
    const bool vendor_matches = vendor.find(mark.word) != std::string::npos;
    const bool product_matches = product.find(mark.word) != std::string::npos;
    // Some vendors also sell bare machines: their name counts with the CPU's flag, which ARM lacks.
    const bool counts = flagged || (!lists_flags && !may_be_bare(vendor, product));
    if (counts && (vendor_matches || product_matches)) return known(mark.name, "DMI");
  }
  if (flagged) return known("virtual machine", "the CPU's hypervisor flag");
  if (lists_flags) return known("none", "no hypervisor flag");
  return {std::nullopt, "neither a hypervisor flag nor CPU flags in /proc/cpuinfo"};
}

}  // namespace ocrtune
