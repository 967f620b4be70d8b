// CUDA calls as results, and waits that end. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/result.h"

namespace ocrtune {

Status cuda_status(cudaError_t code, const char* what);

// Returns from the calling function where the call fails.
#define OCRTUNE_CUDA(call) OCRTUNE_TRY(::ocrtune::cuda_status((call), #call))

// Polls, since a synchronising call on a hung stream never returns. interrupted: the time is up.
Status await_stream(cudaStream_t stream, double seconds, const std::string& what);

// "hung" for interrupted, "unsupported", "wrong_data" for invalid, else "failed".
std::string outcome_of(const Error& error);

// What a step works with, for the rest of the process: to free memory waits for the device, and
// after a hang that is for ever, before the finding was said.
template <typename Made, typename... Arguments>
Made& never_freed(Arguments&&... arguments) {
  return *new Made(std::forward<Arguments>(arguments)...);
}

// Memory on one device, freed with it. Contents undefined.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();
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
