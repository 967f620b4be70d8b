// Waits that end: see probes/p2p/cuda/cuda_call.h.
#include "base/clock.h"
#include "probes/p2p/cuda/cuda_call.h"

namespace ocrtune {

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

}  // namespace ocrtune
