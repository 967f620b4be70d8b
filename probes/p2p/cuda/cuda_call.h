// Waits for a GPU that end, and what their end is called. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <utility>

#include "base/cuda/device_memory.h"

namespace ocrtune {

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

}  // namespace ocrtune
