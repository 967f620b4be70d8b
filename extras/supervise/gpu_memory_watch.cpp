// One question at a time, in a thread: an answer that does not come is never waited for.
#include "extras/supervise/gpu_memory_watch.h"

#include <algorithm>
#include <chrono>

#include "base/environment.h"
#include "probes/gpu/gpu.h"

namespace ocrtune {

// A driver that hangs in the kernel holds each process that asks, and its pipe, until the machine
// starts anew.
constexpr int kMostUnanswered = 3;

std::optional<GpuMemory> fullest_gpu(const GpuReport& report) {
  std::optional<GpuMemory> fullest;
  const auto share = [](const GpuMemory& gpu) {
    return static_cast<double>(gpu.used_bytes) / static_cast<double>(gpu.size_bytes);
  };
  for (const GpuFacts& gpu : report.gpus) {
    if (gpu.memory_bytes == 0) continue;
    const GpuMemory memory{gpu.index, gpu.memory_used_bytes, gpu.memory_bytes};
    if (!fullest || share(memory) > share(*fullest)) fullest = memory;
  }
  return fullest;
}

std::optional<GpuReport> GpuMemoryWatch::look(double now_seconds, double every_seconds) {
  std::optional<GpuReport> report;
  if (none_) return report;
  if (asked_.valid()) {
    if (asked_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return report;
    report = asked_.get();
    unanswered_ = report->answered ? 0 : unanswered_ + 1;
    none_ = unanswered_ == kMostUnanswered || (report->gpus.empty() && asked_at_ >= 0 && !fullest_);
    if (const auto fullest = fullest_gpu(*report)) {
      fullest_ = fullest;
      peak_bytes_ = std::max(peak_bytes_, fullest->used_bytes);
    }
  }
  if (none_ || (asked_at_ >= 0 && now_seconds - asked_at_ < every_seconds)) return report;
  asked_at_ = now_seconds;
  // Deferred where the system has no thread to spare: then it is never ready and nobody waits.
  asked_ = std::async(std::launch::async | std::launch::deferred,
                      [] { return probe_gpus(GpuProbeOptions{}, process_environment()); });
  return report;
}

}  // namespace ocrtune
