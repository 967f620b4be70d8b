// CUDA calls as results: see probes/p2p/cuda/cuda_call.h.
#include "base/clock.h"
#include "probes/p2p/cuda/cuda_call.h"

namespace ocrtune {

Status cuda_status(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return Status();
  const std::string call = std::string(what).substr(0, std::string(what).find('('));
  const bool memory = code == cudaErrorMemoryAllocation;
  return Error{memory ? ErrorKind::exhausted : ErrorKind::failed,
               call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}

Status await_stream(cudaStream_t stream, double seconds, const std::string& what) {
  const double start = steady_clock().now_seconds();
  while (true) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) return Status();
    if (state != cudaErrorNotReady) return cuda_status(state, what.c_str());
    const double waited = steady_clock().now_seconds() - start;
    if (waited > seconds) {
      return Error{ErrorKind::interrupted,
                   what + ": not done within " + std::to_string(static_cast<int>(seconds)) + " s"};
    }
    if (waited > 1e-3) steady_clock().sleep_seconds(1e-4);
  }
}

std::string outcome_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::interrupted:
      return "hung";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::invalid:
      return "wrong_data";
    default:
      return "failed";
  }
}

DeviceMemory::~DeviceMemory() {
  if (start_ == nullptr) return;
  cudaSetDevice(device_);
  cudaFree(start_);
}

Status DeviceMemory::allocate(int device, std::size_t bytes) {
  device_ = device;
  OCRTUNE_CUDA(cudaSetDevice(device));
  OCRTUNE_CUDA(cudaMalloc(&start_, bytes));
  bytes_ = bytes;
  return Status();
}

}  // namespace ocrtune
