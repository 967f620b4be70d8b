// The order: the child's report, warnings of single cards and of unlike ones, what this environment
// shows. The verdict by static facts comes last, because it looks at all of these.
#include "probes/machine_gpus.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "probes/gpu/gpu.h"
#include "probes/p2p/p2p_static.h"

namespace ocrtune {
namespace {

std::string pcie_text(int generation, int width) {
  return fmt::format("PCIe {} x{}", generation, width);
}

void warn_of(const GpuFacts& gpu, Machine& machine) {
  if (gpu.pcie_width > 0 && gpu.pcie_width < gpu.pcie_width_most) {  // rest lowers the speed alone
    machine.warnings.push_back(
        fmt::format("GPU {} runs at {} and can do {}: look at its slot, riser or power saving",
                    gpu.index, pcie_text(gpu.pcie_generation, gpu.pcie_width),
                    pcie_text(gpu.pcie_generation_most, gpu.pcie_width_most)));
  }
  if (gpu.compute_mode == "exclusive") {
    machine.warnings.push_back(
        fmt::format("GPU {} is in exclusive mode: one process at a time may use it", gpu.index));
  }
  if (gpu.compute_mode == "prohibited") {
    machine.warnings.push_back(
        fmt::format("GPU {} is in prohibited mode: nothing may compute on it", gpu.index));
  }
  if (!gpu.pids.empty()) {
    machine.warnings.push_back(fmt::format("GPU {} is in use by {} other process{}", gpu.index,
                                           gpu.pids.size(), gpu.pids.size() == 1 ? "" : "es"));
  } else if (busy_for_nobody(gpu)) {
    machine.warnings.push_back(fmt::format(
        "GPU {} is {} % busy with no process in sight: another container uses it, or it is wedged "
        "and needs a reset",
        gpu.index, gpu.busy_percent));
  }
}

int cores_of(const GpuFacts& gpu, const std::map<int, int>& cores) {
  const auto found = cores.find(gpu.index);
  return found == cores.end() ? 0 : found->second;
}

std::string card_text(const GpuFacts& gpu, int cores) {
  std::string text = fmt::format("{}, {}", gpu.name, format_bytes(gpu.memory_bytes));
  return cores > 0 ? text + ", " + how_many(cores, "core") : text;
}

// Ranks that wait for each other in every step go as slowly as the slowest card lets them.
void warn_of_unequal(const std::map<int, int>& cores, Machine& machine) {
  if (machine.gpus.empty()) return;
  const GpuFacts& first = machine.gpus.front();
  const auto other = std::find_if(machine.gpus.begin(), machine.gpus.end(), [&](const auto& gpu) {
    return gpu.name != first.name || gpu.memory_bytes != first.memory_bytes ||
           cores_of(gpu, cores) != cores_of(first, cores);
  });
  if (other == machine.gpus.end()) return;
  machine.warnings.push_back(fmt::format(
      "the GPUs are not alike: GPU {} is {}, GPU {} is {}; in one training the smallest memory "
      "bounds every rank's batch and the slowest card every step: train on like ones, or give each "
      "rank a batch of its own where the program takes one",
      first.index, card_text(first, cores_of(first, cores)), other->index,
      card_text(*other, cores_of(*other, cores))));
}

// The kernel's own signs of a device whose driver is not asked here.
std::string amd_note(const FileRoot& root) {
  return root.exists("/sys/class/kfd/kfd/topology") ? "; an AMD GPU is there, which is not probed"
                                                    : "";
}

// What this environment shows of them, and whether the devices it names are there.
void add_visibility(const Environment& environment, Machine& machine) {
  if (machine.gpus.empty()) return;
  const GpuView view = visible_gpus(physical_gpus(machine.gpus), environment, GpuVendor::nvidia);
  for (const VisibleGpu& gpu : view.gpus) {
    machine.visible_gpus.push_back({gpu.logical, gpu.physical, gpu.uuid});
  }
  machine.gpu_visibility = view.because;
  for (const std::string& problem : view.problems) machine.warnings.push_back(problem);
  if (view.gpus.empty() || environment_value(environment, "FLAGS_selected_gpus").empty()) return;
  const auto choice = choose_gpus(view, "", environment);
  if (!choice) machine.warnings.push_back(choice.error().what);
}

// What is set up around the GPUs: NCCL's variables with their files, the IOMMU, PCIe's access
// control.
void add_settings(const P2pFacts& facts, const std::string& nccl_version, Machine& machine) {
  if (nccl_version.empty()) {
    machine.unknowns.emplace_back(
        "NCCL: no libnccl.so.2 is found; --nccl of 'ocrtune p2p' names it");
  } else {
    machine.settings.push_back({"nccl_version", nccl_version, "libnccl.so.2"});
  }
  for (const auto& [name, value] : facts.nccl_settings) {
    const auto file = facts.nccl_files.find(name);
    machine.settings.push_back(
        {name, value, file == facts.nccl_files.end() ? "environment" : file->second});
  }
  const auto tell = [&](Tri state, const char* name, const char* source, const char* unknown) {
    if (state == Tri::unknown) {
      machine.unknowns.emplace_back(unknown);
    } else {
      machine.settings.push_back({name, state == Tri::yes ? "yes" : "no", source});
    }
  };
  tell(facts.iommu_translates, "iommu_translates", "/sys/kernel/iommu_groups",
       "the IOMMU: /sys/kernel/iommu_groups cannot be read");
  tell(facts.acs_redirects, "acs_redirects", "/sys/bus/pci/devices",
       "PCIe access control (ACS): no bridge could be read, which needs root");
}

}  // namespace

void add_gpus(Machine& machine, const FileRoot& root, const Environment& environment,
              double deadline_seconds) {
  GpuProbeOptions options;
  options.deadline_seconds = deadline_seconds;
  GpuReport report = probe_gpus(options, environment);
  machine.gpu_state = std::move(report.state) + (report.gpus.empty() ? amd_note(root) : "");
  machine.gpus = std::move(report.gpus);
  machine.gpu_links = std::move(report.links);
  machine.cuda_driver_version = report.cuda_driver_version;
  for (std::string& unknown : report.unknowns) machine.unknowns.push_back(std::move(unknown));
  for (const GpuFacts& gpu : machine.gpus) warn_of(gpu, machine);
  warn_of_unequal(report.cuda_cores, machine);
  add_visibility(environment, machine);
  if (!report.answered) return;  // a driver that was not asked gives no verdict
  const P2pFacts facts = static_p2p_facts(machine, root, environment);
  machine.p2p = p2p_summary(judge_p2p(facts));
  if (machine.gpus.empty()) return;
  add_settings(facts, report.nccl_version, machine);
  const MpsState mps = read_mps(root, environment);
  machine.settings.push_back({kMpsSetting, mps.on ? "on" : "off", mps.source});
}

std::vector<std::string> device_notes(const Machine& machine, const Environment& environment,
                                      int ranks) {
  if (machine.gpus.empty()) return {};
  const GpuView view = visible_gpus(physical_gpus(machine.gpus), environment, GpuVendor::nvidia);
  std::vector<std::string> notes = view.problems;
  if (view.gpus.empty()) {
    if (notes.empty()) notes.push_back("no GPU is visible: " + view.because);
    return notes;
  }
  const auto visible = static_cast<int>(view.gpus.size());
  if (ranks > visible) {
    notes.push_back(fmt::format("up to {} ranks on {} visible GPU{}: on GPUs some would share one",
                                ranks, visible, visible == 1 ? "" : "s"));
  }
  const auto choice = choose_gpus(view, "", environment);
  if (!choice) {
    notes.push_back(choice.error().what);
  } else if (choice->by_default && ranks <= 1) {
    notes.push_back(choice->because + "; name one if that is not meant");
  }
  return notes;
}

std::vector<PhysicalGpu> physical_gpus(const std::vector<GpuFacts>& gpus) {
  std::vector<PhysicalGpu> all;
  for (const GpuFacts& gpu : gpus) {
    all.push_back({gpu.index, gpu.uuid, gpu.name, gpu.mig == "on", gpu.slices});
  }
  return all;
}

MpsState read_mps(const FileRoot& root, const Environment& environment) {
  const std::string named = environment_value(environment, "CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = named.empty() ? "/tmp/nvidia-mps" : named;
  const std::string path = join_path(folder, "nvidia-cuda-mps-control.pid");
  return {root.exists(path), path};
}

}  // namespace ocrtune
