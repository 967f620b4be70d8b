// Three steps: which GPUs the driver lists and the variables leave visible; which of them are asked
// for; whether a child process opens them all with the core's libraries. This process loads no
// driver (docs/adr/0003).
#include "tuner/space/device_choice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/machine_gpus.h"
#include "probes/p2p/steps/gpu_step.h"

namespace ocrtune {
namespace {

Error refused(ErrorKind kind, const std::string& why) {
  return Error{kind, "--device gpu: " + why};
}

Result<DeviceChoice> named_gpus(const DeviceRequest& request, const Machine& machine,
                                const Environment& environment) {
  if (machine.gpus.empty()) {
    return refused(ErrorKind::missing,
                   machine.gpu_state.empty() ? "no GPU was found" : machine.gpu_state);
  }
  const GpuView view = visible_gpus(physical_gpus(machine.gpus), environment, GpuVendor::nvidia);
  if (view.gpus.empty()) return refused(ErrorKind::missing, "no GPU is visible: " + view.because);
  const auto chosen = choose_gpus(view, request.gpus.empty() ? "all" : request.gpus, environment);
  if (!chosen) return refused(chosen.error().kind, chosen.error().what);
  DeviceChoice out;
  out.gpu = true;
  out.gpus = chosen->gpus;
  out.because = chosen->because;
  std::set<std::string> distinct;
  for (const VisibleGpu& gpu : out.gpus) {
    // Trials and the driver's books are matched by UUID.
    if (gpu.uuid.empty()) {
      return refused(ErrorKind::unsupported,
                     fmt::format("the UUID of GPU {} is not known, so nothing could prove that it "
                                 "is the one that computes",
                                 gpu.logical));
    }
    if (!distinct.insert(gpu.uuid).second) {
      return refused(ErrorKind::usage, "a GPU is named twice: " + gpu.uuid);
    }
  }
  return out;
}

bool has_tensor_cores(const Machine& machine, const VisibleGpu& gpu) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const GpuFacts& facts) {
    // Ampere, compute capability 8.0, is the first with both tf32 and bf16.
    return facts.index == gpu.physical && parse_number(facts.compute_capability).value_or(0) >= 8.0;
  });
}

// A child opens them all with the core's libraries.
Status prove(const DeviceRequest& request, const Environment& environment, DeviceChoice& choice) {
  GpuStep step;
  step.kind = "ready";
  for (const VisibleGpu& gpu : choice.gpus) step.devices.push_back(gpu.uuid);
  step.deadline_seconds = request.deadline_seconds;
  GpuStepPlace place;
  place.worker = request.gpu_worker;
  place.environment = environment;
  const GpuStepResult result = run_gpu_step(step, place);
  if (result.interrupted) return Error{ErrorKind::interrupted, "interrupted"};
  if (result.result != StepResult::passed) {
    return refused(ErrorKind::unsupported,
                   result.detail.empty() ? "it cannot be used" : result.detail);
  }
  std::size_t opened = 0;
  for (const GpuFinding& finding : result.findings) {
    if (finding.what == "versions" && finding.word("nccl_version").empty()) {
      choice.no_nccl = finding.detail.empty() ? "no NCCL was found" : finding.detail;
    }
    if (finding.what != "device" || finding.outcome != "passed") continue;
    const auto free = static_cast<std::uint64_t>(finding.figure("free_bytes"));
    // Ranks are alike: the fullest GPU decides.
    choice.memory_bytes = opened == 0 ? free : std::min(choice.memory_bytes, free);
    ++opened;
  }
  if (opened != choice.gpus.size()) {
    return refused(ErrorKind::unsupported,
                   fmt::format("CUDA opened {} of the {} GPUs", opened, choice.gpus.size()));
  }
  return Status();
}

}  // namespace

Result<DeviceChoice> choose_device(const DeviceRequest& request, const Machine& machine,
                                   const Environment& environment) {
  const bool automatic = request.device == "auto";
  if (!automatic && request.device != "cpu" && request.device != "gpu") {
    return Error{ErrorKind::usage, "--device " + request.device + ": there is auto, cpu and gpu"};
  }
  if (request.device == "cpu" && !request.gpus.empty()) {
    return Error{ErrorKind::usage, "--gpus: with --device cpu no GPU is used"};
  }
  const bool asked = !automatic || !request.gpus.empty();
  DeviceChoice cpu;
  cpu.because = request.device == "cpu" ? "--device cpu" : "no usable GPU";
  if (request.device == "cpu") return cpu;
  auto choice = named_gpus(request, machine, environment);
  Status usable = choice ? prove(request, environment, *choice) : Status(choice.error());
  if (usable) {
    choice->tensor_cores =
        std::all_of(choice->gpus.begin(), choice->gpus.end(),
                    [&](const VisibleGpu& gpu) { return has_tensor_cores(machine, gpu); });
    return choice;
  }
  // Who asked for GPUs gets no CPUs in their place.
  if (asked || usable.error().kind == ErrorKind::interrupted) return usable.error();
  if (!machine.gpus.empty()) cpu.because = usable.error().what;
  return cpu;
}

}  // namespace ocrtune
