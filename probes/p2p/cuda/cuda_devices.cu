// T0: what the CUDA runtime and NCCL say of themselves and of the visible devices.
#include <cuda_runtime.h>

#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/cuda_steps.h"
#include "probes/p2p/cuda/nccl_library.h"

namespace ocrtune {
namespace {

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

// Codes of a machine without a usable GPU: a normal answer, but for a driver that is too old.
int say_no_device(const GpuStepOrder& order, int answer) {
  const auto code = static_cast<cudaError_t>(answer);
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (code == cudaErrorInsufficientDriver && driver > 0) {
    GpuFinding end = order.finding("end", "failed");
    end.words["kind"] = "driver_too_old";
    end.detail = "the GPU driver supports CUDA " + version_text(driver) + " and this build needs " +
                 version_text(runtime) + ": update the driver, or build with an older CUDA";
    say(end);
    return 0;
  }
  return say_end(
      order, "unsupported",
      code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice || code == cudaSuccess
          ? "no GPU: CUDA finds no driver or no device"
          : std::string("CUDA: ") + cudaGetErrorString(code));
}

void say_versions(const GpuStepOrder& order, const std::string& nccl_folder) {
  GpuFinding versions = order.finding("versions", "passed");
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  versions.figures["cuda_driver_version"] = driver;
  versions.figures["cuda_runtime_version"] = runtime;
  const auto library = open_nccl(nccl_folder);
  if (library) {
    versions.words["nccl_version"] = nccl_version(*library);
  } else {
    versions.detail = library.error().what;
  }
  say(versions);
}

Status say_device(const GpuStepOrder& order, int index) {
  OCRTUNE_CUDA(cudaSetDevice(index));
  std::size_t free = 0;
  std::size_t total = 0;
  OCRTUNE_CUDA(cudaMemGetInfo(&free, &total));
  cudaDeviceProp properties{};
  OCRTUNE_CUDA(cudaGetDeviceProperties(&properties, index));
  GpuFinding device = order.finding("device", "passed");
  device.from = index;
  device.figures["free_bytes"] = static_cast<double>(free);
  device.figures["total_bytes"] = static_cast<double>(total);
  device.figures["multiprocessors"] = properties.multiProcessorCount;
  device.words["name"] = properties.name;
  say(device);
  return Status();
}

int devices_step(const GpuStepOrder& order, const std::string& nccl_folder) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) return say_no_device(order, code);
  say_versions(order, nccl_folder);
  for (int from = 0; from < count; ++from) {
    const Status said = say_device(order, from);
    if (!said) return say_end(order, outcome_of(said.error()), said.error().what);
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      int can = 0;
      const cudaError_t asked = cudaDeviceCanAccessPeer(&can, from, to);
      GpuFinding peer =
          order.finding("peer", asked == cudaSuccess && can != 0 ? "passed" : "refused");
      peer.from = from;
      peer.to = to;
      say(peer);
    }
  }
  return say_end(order, "passed", "");
}

int run_cuda_step(const GpuStepOrder& order, const std::string& nccl_folder) {
  if (order.kind == "devices") return devices_step(order, nccl_folder);
  if (order.kind == "copy") return copy_step(order);
  if (order.kind == "handshake") return handshake_step(order);
  if (order.kind == "nccl" || order.kind == "soak" || order.kind == "sweep") {
    return nccl_step(order, nccl_folder);
  }
  return say_end(order, "unsupported", "this worker knows no step '" + order.kind + "'");
}

}  // namespace ocrtune
