// The Executor of core/gpu/ops/device_operator.h on one GPU: own kernels, cuBLAS for products,
// cuDNN for convolutions, all on one stream. For .cu files alone. Never run on hardware so far.
//
// Precisions: fp32 is plain; tf32 lets tensor cores round the factors of products and convolutions
// to 10 bits; bf16 keeps activations, their gradients and the weights that are multiplied as bf16.
// Sums, weights that are trained, and their gradients and moments are floats in all of them.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <memory>
#include <string>

#include "core/gpu/cuda/cuda_kernels.h"
#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

enum class Precision { fp32, tf32, bf16 };
Result<Precision> precision_named(const std::string& name);  // usage: none of them

struct CudaOptions {
  Precision precision = Precision::fp32;
  bool graphs = true;  // what is run again is captured as a CUDA graph
};

// Work that is run again and again: plainly the first time, so that every library has loaded its
// kernels and taken its memory; captured the second; launched as one graph from then on.
struct CudaRecording {
  CudaRecording() = default;
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  ~CudaRecording() {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  }
  int runs = 0;
  bool refused = false;  // a capture failed: plainly for ever
  cudaGraphExec_t graph = nullptr;
};

class CudaExecutor {
 public:
  using Buffer = DeviceMemory;
  using Recording = CudaRecording;

  // unsupported: no GPU, or one without the precision (tf32 and bf16 need compute capability 8.0).
  static Result<std::unique_ptr<CudaExecutor>> open(int device, const CudaOptions& options);
  CudaExecutor(const CudaExecutor&) = delete;
  CudaExecutor& operator=(const CudaExecutor&) = delete;
  ~CudaExecutor();

  template <typename Work>
  Status for_each(std::size_t count, const Work& work) {
    return launch_each(stream_, count, work);
  }
  template <typename Work>
  Status rows(std::size_t count, const Work& work) {
    if (count == 0) return Status();
    rows_kernel<<<static_cast<unsigned>(count), kRowThreads, 0, stream_>>>(work);
    return cuda_status(cudaGetLastError(), "kernel");
  }
  template <typename Work>
  Status capture_or_replay(Recording& into, const Work& work) {
    if (!options_.graphs || into.refused || into.runs++ == 0) return work();
    if (into.graph == nullptr) {
      const Status captured = capture(into, work);
      if (!captured) {
        into.refused = true;
        capture_refusal_ = captured.error().what;
        return work();  // a capture that failed ran nothing
      }
    }
    return cuda_status(cudaGraphLaunch(into.graph, stream_), "a graph");
  }
  int runs_until_replay() const { return options_.graphs ? 3 : 1; }
  // Why the last capture failed; "" where none did.
  const std::string& capture_refusal() const { return capture_refusal_; }
  Status product(const DeviceProduct& product);
  Status clear(void* start, std::size_t bytes);
  std::size_t max_scratch() const { return kMaxScratch; }
  Result<std::unique_ptr<ConvEngine>> make_conv(const ConvSizes& sizes);
  Result<Buffer> allocate(std::size_t bytes);  // exhausted, with what is free
  // By way of page-locked memory, without a wait as long as all uploads since the last wait fit.
  Status upload(void* to, const void* from, std::size_t bytes);
  Status download(void* to, const void* from, std::size_t bytes);
  Status wait();
  Status stamp(int slot);                            // 0 to 3
  Result<double> seconds_between(int from, int to);  // waits for `to`
  cudaStream_t stream() const { return stream_; }
  Precision precision() const { return options_.precision; }

 private:
  CudaExecutor(int device, const CudaOptions& options) : device_(device), options_(options) {}
  template <typename Work>
  Status capture(Recording& into, const Work& work) {
    const Status begun = begin_capture();
    return begun ? end_capture(into, work()) : begun;
  }
  Status try_out(ConvEngine& engine, const ConvSizes& sizes);
  Status make_room(std::size_t bytes);  // of page-locked memory; exhausted: there is none
  Status begin_capture();
  Status end_capture(Recording& into, const Status& recorded);

  int device_ = 0;
  CudaOptions options_;
  std::string capture_refusal_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  DeviceMemory blas_work_;
  cudnnHandle_t dnn_ = nullptr;
  cudaEvent_t stamps_[4] = {};
  std::byte* staging_ = nullptr;  // page-locked
  std::size_t staging_bytes_ = 0, staged_ = 0;
};

}  // namespace ocrtune::device
