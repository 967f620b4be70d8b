// CUDA calls as results, and memory on a device. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "base/result.h"

namespace ocrtune {

// exhausted: no memory; else failed. `what`: the call, or what it is for.
Status cuda_status(cudaError_t code, const char* what);

// Returns from the calling function where the call fails.
#define OCRTUNE_CUDA(call) OCRTUNE_TRY(::ocrtune::cuda_status((call), #call))

// Memory on one device, freed with it. Contents undefined.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();
  // exhausted: says what the device has.
  Status allocate(int device, std::size_t bytes);
  template <typename T>
  T* as() const {
    return static_cast<T*>(start_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  int device_ = 0;
  void* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ocrtune
