// The mean of gradients that lie on GPUs, by NCCL: the parts are moved on a stream of their own
// while backward goes on (core/comm/comm.h's start_mean), and the host waits for none of them. For
// .cu files alone. Never run on hardware so far.
//
// A peer that died leaves the others' kernels spinning: the process that started the ranks must end
// them.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "core/comm/comm.h"
#include "probes/p2p/cuda/nccl_rank.h"

namespace ocrtune {

class NcclComm final : public Comm {
 public:
  // `folder`: where the ranks meet; `compute`: the stream that makes and uses the gradients, on
  // CUDA's `device`: 0 where the process sees one GPU. unsupported: no NCCL here.
  static Result<std::unique_ptr<Comm>> open(const RankPlace& place, const std::string& folder,
                                            const std::string& nccl_folder, cudaStream_t compute,
                                            int device = 0);
  ~NcclComm() override;

  RankPlace place() const override { return place_; }
  Result<std::span<float>> gradient_buffer(std::size_t count) override;  // on the device
  Status all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) override;
  Status start_mean(std::size_t first, std::size_t count) override;
  Status advance() override { return Status(); }       // the GPU does
  Status finish_means(double* wait_seconds) override;  // the compute stream waits, not the host
  Status barrier() override;

 private:
  NcclComm(const RankPlace& place, const std::string& folder, const NcclLibrary& library,
           cudaStream_t compute, int device);
  Status create_events();

  RankPlace place_;
  GpuStepOrder order_;
  NcclLibrary library_;
  NcclRank rank_;
  cudaStream_t compute_;
  cudaEvent_t ready_ = nullptr, moved_ = nullptr;
  DeviceMemory gradients_;
  int barriers_ = 0;
};

}  // namespace ocrtune
