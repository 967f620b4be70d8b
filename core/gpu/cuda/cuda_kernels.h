// How the kinds of core/gpu/ops/device_rows.h become CUDA kernels. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "base/cuda/device_memory.h"

namespace ocrtune::device {

// A block of threads as a Lane.
struct BlockLane {
  double* slots;  // shared, one for each lane
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int count() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  __device__ double sum(double value) const {
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0U, value, step);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) total += slots[warp];
    __syncthreads();  // nobody overwrites a slot that another has not read
    return total;
  }
  __device__ double sum_of_column(double value, int width) const {
    slots[threadIdx.x] = value;
    __syncthreads();
    double total = 0;
    for (unsigned lane = threadIdx.x % width; lane < blockDim.x; lane += width) {
      total += slots[lane];
    }
    __syncthreads();
    return total;
  }
  __device__ float reduce_max(float value) const {
    for (int step = 16; step > 0; step /= 2) {
      value = fmaxf(value, __shfl_down_sync(~0U, value, step));
    }
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = static_cast<double>(value);
    __syncthreads();
    double largest = slots[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) largest = fmax(largest, slots[warp]);
    __syncthreads();
    return static_cast<float>(largest);
  }
};

template <typename Work>
__global__ void each_kernel(std::size_t count, Work work) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) work(i);
}

template <typename Work>
Status launch_each(cudaStream_t stream, std::size_t count, const Work& work) {
  constexpr std::size_t kLittleWork = std::size_t{1} << 16;
  if (count == 0) return Status();
  // Little work is spread over more multiprocessors.
  const unsigned threads = count < kLittleWork ? 64 : 256;
  each_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(count,
                                                                                              work);
  return cuda_status(cudaGetLastError(), "kernel");
}

inline constexpr int kRowThreads = 128;  // a multiple of 32

template <typename Work>
__global__ void rows_kernel(Work work) {
  __shared__ double slots[kRowThreads];
  BlockLane lane{slots};
  work(lane, static_cast<std::size_t>(blockIdx.x));
}

}  // namespace ocrtune::device
