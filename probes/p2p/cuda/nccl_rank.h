// One rank of an NCCL job that can always be stopped: non-blocking communicator, polled waits,
// abort. For .cu files alone.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <functional>
#include <string>

#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/nccl_library.h"
#include "probes/p2p/steps/gpu_step_order.h"

namespace ocrtune {

class NcclRank {
 public:
  NcclRank(const GpuStepOrder& order, const NcclLibrary& library)
      : order_(order), library_(library) {}
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  // `name` tells several communicators of one step apart.
  Status open(const std::string& name);
  // Calls `enqueue`, which gives NCCL's code, and waits until NCCL has taken the work over.
  Status enqueue(const char* what, const std::function<ncclResult_t(ncclComm_t)>& call);
  // Until everything on the stream is done; interrupted or NCCL's own error otherwise.
  Status wait(const char* what, double seconds);
  Status close();
  void abort();  // may hang: the parent's deadline is the last word

  const NcclLibrary& library() const { return library_; }
  cudaStream_t stream() const { return stream_; }
  int rank() const { return order_.rank; }
  int device() const { return order_.device >= 0 ? order_.device : order_.rank; }  // of CUDA
  int world() const { return order_.world; }

 private:
  Status check(ncclResult_t code, const char* what) const;
  Status settle(const char* what, double seconds);

  const GpuStepOrder& order_;
  const NcclLibrary& library_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace ocrtune
