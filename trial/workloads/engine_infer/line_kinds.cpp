#include "trial/workloads/engine_infer/line_kinds.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/random.h"
#include "core/data/image_file.h"
#include "core/infer/recognizer.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxLooks = 400;
constexpr double kMinWidestShare = 0.05;
constexpr int kNoiseStep = 64;
constexpr int kNoiseEach = 4;

}  // namespace

Result<LineKinds> line_kinds(const std::vector<std::string>& paths, int height, int max_width) {
  std::map<int, std::vector<std::string>> by_width;
  const std::size_t looks = std::min(kMaxLooks, paths.size());
  std::string problem = "there is no line";
  std::size_t good = 0;
  for (std::size_t i = 0; i < looks; ++i) {
    const std::string& path = paths[i * paths.size() / looks];
    const auto image = read_image(path);
    if (!image) {
      problem = image.error().what;
      continue;
    }
    by_width[width_bucket(*image, height, max_width)].push_back(path);
    ++good;
  }
  if (good == 0) return Error{ErrorKind::invalid, "no line can be read: " + problem};
  LineKinds kinds;
  for (auto& [width, lines] : by_width) {
    kinds.widths.push_back(width);
    kinds.weights.push_back(static_cast<double>(lines.size()) / static_cast<double>(good));
    kinds.paths.push_back(std::move(lines));
  }
  kinds.weights.back() = std::max(kinds.weights.back(), kMinWidestShare);
  return kinds;
}

Result<std::vector<std::string>> write_noise_lines(const std::string& folder, int height,
                                                   int max_width) {
  std::vector<std::string> paths;
  for (int width = std::min(kNoiseStep, max_width);; width += kNoiseStep) {
    width = std::min(width, max_width);
    for (int i = 0; i < kNoiseEach; ++i) {
      Random random(static_cast<std::uint64_t>(width * kNoiseEach + i));
      Image image{width, height, {}};
      image.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
      for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
      const auto bytes = OCRTUNE_TRY(encode_png(image));
      paths.push_back(join_path(folder, fmt::format("{:05}-{}.png", width, i)));
      OCRTUNE_TRY(write_file(paths.back(), bytes));
    }
    if (width == max_width) return paths;
  }
}

}  // namespace ocrtune
