// The place of a worker travels in one frame, its fields parted by tabs, which no UUID holds. A
// worker that reports no bytes on its GPU has loaded nothing there, whatever CUDA said.
#include "trial/workloads/engine_infer/infer_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "probes/gpu/gpu_ids.h"

namespace ocrtune {

std::string gpu_place_body(const GpuPlace& place) {
  return fmt::format("{}\t{}\t{}", place.uuid, place.bytes, place.source);
}

GpuPlace parse_gpu_place(std::string_view body) {
  const std::vector<std::string> parts = split(body, '\t');
  GpuPlace place;
  if (parts.size() != 3) return place;
  place.uuid = parts[0];
  place.bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, parse_integer(parts[1]).value_or(0)));
  place.source = parts[2];
  return place;
}

std::vector<std::string> gpu_conflicts(const std::vector<std::string>& meant,
                                       const std::vector<GpuPlace>& seen, bool may_share) {
  std::vector<std::string> conflicts;
  for (std::size_t i = 0; i < seen.size() && i < meant.size(); ++i) {
    // It has not spoken yet.
    if (seen[i].source.empty()) continue;
    if (!same_gpu_uuid(seen[i].uuid, meant[i])) {
      conflicts.push_back(fmt::format("worker {} was meant for {} and computes on {}", i, meant[i],
                                      seen[i].uuid.empty() ? "no GPU" : seen[i].uuid));
    } else if (seen[i].bytes == 0) {
      conflicts.push_back(
          fmt::format("worker {} uses no memory of {} ({})", i, meant[i], seen[i].source));
    }
  }
  for (std::size_t a = 0; !may_share && a < seen.size(); ++a) {
    for (std::size_t b = a + 1; b < seen.size(); ++b) {
      if (seen[a].uuid.empty() || seen[a].uuid != seen[b].uuid) continue;
      conflicts.push_back(fmt::format("workers {} and {} both compute on {}", a, b, seen[a].uuid));
    }
  }
  return conflicts;
}

}  // namespace ocrtune
