// The one GPU that this process sees: see trial/cuda/cuda_device.h.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "trial/cuda/cuda_device.h"
#include "probes/p2p/cuda/cuda_call.h"
#include "probes/gpu/gpu_ids.h"

namespace ocrtune {
Result<CudaDevice> CudaDevice::open(const std::string& precision, const std::string& meant) {
  const auto wanted = device::precision_named(precision);
  if (!wanted) return wanted.error();
  CudaDevice out;
  const char* library = std::getenv("OCRTUNE_NVML_PATH");
  if (!meant.empty()) {  // the books before this process has a context
    out.books_ = std::make_unique<GpuMemoryUse>(meant, library == nullptr ? "" : library);
    out.external_bytes_ = out.books_->of_all().value_or(0);
  }
  int count = 0;
  const cudaError_t asked = cudaGetDeviceCount(&count);
  if (asked == cudaSuccess && count > 1) {
    return Error{ErrorKind::unsupported, std::to_string(count) +
                                             " GPUs are visible; this process is for one, named by "
                                             "CUDA_VISIBLE_DEVICES"};
  }
  const char* graphs = std::getenv("OCRTUNE_CUDA_GRAPHS");
  const bool off = graphs != nullptr && std::string_view(graphs) == "0";
  auto executor = device::CudaExecutor::open(0, {*wanted, !off});
  if (!executor) return executor.error();
  out.executor_ = std::move(*executor);
  cudaDeviceProp properties{};
  OCRTUNE_CUDA(cudaGetDeviceProperties(&properties, 0));
  out.name_ = properties.name;
  const bool slice = starts_with(meant, "MIG-");
  out.uuid_ = gpu_uuid_text(properties.uuid.bytes, slice);
  if (!meant.empty() && !same_gpu_uuid(out.uuid_, meant)) {
    return Error{ErrorKind::unsupported,
                 "this process computes on " + out.uuid_ + " instead of " + meant};
  }
  return Result<CudaDevice>(std::move(out));
}

Result<CudaDevice::Use> CudaDevice::memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  OCRTUNE_CUDA(cudaMemGetInfo(&free, &total));
  Use use;
  use.total_bytes = total;
  if (books_ != nullptr) {
    if (const auto own = books_->of_process(::getpid())) {
      use.bytes = *own;
      use.source = "NVML";
      return use;
    }
  }
  const std::uint64_t all = total - free;
  use.bytes = all > external_bytes_ ? all - external_bytes_ : all;
  use.source = "cudaMemGetInfo";
  return use;
}

}  // namespace ocrtune
