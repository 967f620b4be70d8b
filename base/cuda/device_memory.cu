// CUDA calls as results: see base/cuda/device_memory.h.
#include <string>

#include "base/cuda/device_memory.h"
#include "base/text.h"

namespace ocrtune {

Status cuda_status(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return Status();
  const std::string call = std::string(what).substr(0, std::string(what).find('('));
  const bool memory = code == cudaErrorMemoryAllocation;
  return Error{memory ? ErrorKind::exhausted : ErrorKind::failed,
               call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")",
               {},
               Scarce::gpu_memory};
}

DeviceMemory::~DeviceMemory() {
  if (start_ == nullptr) return;
  cudaSetDevice(device_);
  cudaFree(start_);
}

Status DeviceMemory::allocate(int device, std::size_t bytes) {
  device_ = device;
  OCRTUNE_CUDA(cudaSetDevice(device));
  if (cudaMalloc(&start_, bytes) == cudaSuccess) {
    bytes_ = bytes;
    return Status();
  }
  std::size_t free = 0;
  std::size_t total = 0;
  cudaGetLastError();  // a failed allocation is no lasting error
  cudaMemGetInfo(&free, &total);
  return Error{ErrorKind::exhausted,
               "the GPU has " + format_bytes(free) + " free of " + format_bytes(total) + "; " +
                   format_bytes(bytes) + " more are needed",
               {},
               Scarce::gpu_memory};
}

}  // namespace ocrtune
