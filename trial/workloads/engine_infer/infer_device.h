// Where an inference worker computes, when that is not this machine's CPUs, and the proof of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/infer/logit_maker.h"

namespace ocrtune {

// What a worker says of its GPU: by CUDA's own word and by the driver's books.
struct GpuPlace {
  std::string uuid;         // empty: it computes on none
  std::uint64_t bytes = 0;  // of its memory there; 0: not known
  std::string source;       // "NVML", "cudaMemGetInfo"
};

std::string gpu_place_body(const GpuPlace& place);
GpuPlace parse_gpu_place(std::string_view body);

class InferDevice {
 public:
  virtual ~InferDevice() = default;
  virtual Status open() = 0;  // unsupported: no such device, or another one than was meant
  virtual LogitMaker& maker() = 0;
  virtual GpuPlace place() = 0;
};

// What is wrong, in words, one line each: a worker on another GPU than was meant, on none, without
// memory there by the driver's books, and - unless sharing was asked for - two on one GPU.
// `meant` and `seen` are of the workers, by position; one that has not spoken yet is passed over.
std::vector<std::string> gpu_conflicts(const std::vector<std::string>& meant,
                                       const std::vector<GpuPlace>& seen, bool may_share);

}  // namespace ocrtune
