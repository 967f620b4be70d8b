// The memory of the fullest GPU during a long run, asked for now and then through the GPU worker.
//
// The asking runs beside the run's own loop: a driver that hangs costs nothing but the answer.
#pragma once

#include <cstdint>
#include <future>
#include <optional>

#include "probes/machine/gpu_report.h"

namespace ocrtune {

struct GpuMemory {
  int index = 0;  // the driver's number of the fullest GPU
  std::uint64_t used_bytes = 0, size_bytes = 0;
};

class GpuMemoryWatch {
 public:
  // Takes an answer that is there, and gives it, and asks again when `every_seconds` have passed.
  // Once the answer was "no GPU", or there was none three times in a row, it asks no more.
  std::optional<GpuReport> look(double now_seconds, double every_seconds);
  const std::optional<GpuMemory>& fullest() const { return fullest_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::future<GpuReport> asked_;
  double asked_at_ = -1;
  bool none_ = false;
  int unanswered_ = 0;  // in a row
  std::optional<GpuMemory> fullest_;
  std::uint64_t peak_bytes_ = 0;
};

std::optional<GpuMemory> fullest_gpu(const GpuReport& report);

}  // namespace ocrtune
