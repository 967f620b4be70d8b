#include "trial/workloads/engine_infer/reading_memory.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/gpu/device_footprint.h"
#include "core/infer/logit_maker.h"

namespace ocrtune {
namespace {

// Of all that a reader keeps, the sum of their sizes, the largest batch being 1.
double kept_sizes(int batch, int width) {
  std::vector<double> sizes;
  for (int wide = kLineWidthStep; wide < width + kLineWidthStep; wide += kLineWidthStep) {
    const double share = std::min(wide, width) / static_cast<double>(width);
    for (int lines = 1; lines < 2 * batch; lines *= 2) {
      sizes.push_back(share * std::min(lines, batch) / batch);
    }
  }
  const std::size_t kept = std::min(sizes.size(), kMaxReaderShapes);
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(sizes.begin(), end, sizes.end(), std::greater<>());
  return std::accumulate(sizes.begin(), end, 0.0);
}

}  // namespace

Result<std::uint64_t> all_shapes_reading_bytes(const RecognizerOptions& options, int classes) {
  RecognizerOptions twice = options;
  twice.batch = 2 * options.batch;
  const auto once = device_reading_bytes(options, classes);
  const auto more = device_reading_bytes(twice, classes);
  if (!once || !more) return once ? more.error() : once.error();
  const auto activations = static_cast<double>(*more - std::min(*more, *once));
  const double others = kept_sizes(options.batch, options.width) - 1;
  return *once + static_cast<std::uint64_t>(activations * std::max(0.0, others));
}

}  // namespace ocrtune
