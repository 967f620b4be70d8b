// Only widths matter: the time of a line is that of its padded width, whatever it shows.
#include "trial/workloads/engine_infer/line_kinds.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxLooks = 400;
constexpr double kMinWidestShare = 0.05;
constexpr int kNoiseStep = 64;
constexpr int kNoiseEach = 4;

}  // namespace

Result<LineKinds> line_kinds(const std::vector<std::string>& paths, int height, int max_width) {
  const EngineParts* parts = engine_parts();
  if (parts == nullptr) return engine_elsewhere();
  std::map<int, std::vector<std::string>> by_width;
  const std::size_t looks = std::min(kMaxLooks, paths.size());
  std::string problem = "there is no line";
  std::size_t good = 0;
  for (std::size_t i = 0; i < looks; ++i) {
    // Spread over the list, since lists are often sorted by width or source.
    const std::string& path = paths[i * paths.size() / looks];
    const auto width = parts->line_width(path, height, max_width);
    if (!width) {
      problem = width.error().what;
      continue;
    }
    by_width[*width].push_back(path);
    ++good;
  }
  if (good == 0) return Error{ErrorKind::invalid, "no line can be read: " + problem};
  LineKinds kinds;
  for (auto& [width, lines] : by_width) {
    kinds.widths.push_back(width);
    kinds.weights.push_back(static_cast<double>(lines.size()) / static_cast<double>(good));
    kinds.paths.push_back(std::move(lines));
  }
  // The widest line decides a latency target, so it must come often enough to be measured.
  kinds.weights.back() = std::max(kinds.weights.back(), kMinWidestShare);
  return kinds;
}

Result<std::vector<std::string>> write_noise_lines(const std::string& folder, int height,
                                                   int max_width) {
  const EngineParts* parts = engine_parts();
  if (parts == nullptr) return engine_elsewhere();
  std::vector<std::string> paths;
  for (int width = std::min(kNoiseStep, max_width);; width += kNoiseStep) {
    width = std::min(width, max_width);
    for (int i = 0; i < kNoiseEach; ++i) {
      // The same pictures in each run.
      const int seed = width * kNoiseEach + i;
      const auto bytes =
          OCRTUNE_TRY(parts->noise_picture(width, height, static_cast<std::uint64_t>(seed)));
      paths.push_back(join_path(folder, fmt::format("{:05}-{}.png", width, i)));
      OCRTUNE_TRY(write_file(paths.back(), bytes));
    }
    if (width == max_width) return paths;
  }
}

}  // namespace ocrtune
