// The engine's parts and commands, in the programs that are linked with them.
#include <dnnl.h>

#include <utility>

#include <fmt/format.h>
#if __has_include(<lmdb.h>)
#include <lmdb.h>
#endif

#include "base/files.h"
#include "base/random.h"
#include "cli/engine_commands.h"
#include "core/data/image_file.h"
#include "core/data/loader.h"
#include "engine/commands/engine_commands.h"
#include "engine/work/framework_recognizer.h"
#include "engine/work/label_images.h"
#include "engine/work/step_rates.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

Result<TrainingLines> training_lines(const LoaderOptions& options) {
  if (path_exists(options.label_file)) OCRTUNE_TRY(check_label_images(options.label_file));
  const auto opened = OCRTUNE_TRY(Loader::create(options));
  TrainingLines lines;
  lines.lines = opened->size();
  lines.classes = static_cast<int>(opened->alphabet().size()) + 1;
  const auto& buckets = opened->width_buckets();
  if (buckets.empty()) return lines;
  lines.widest_bucket = buckets.back().width;
  lines.buckets = describe_width_buckets(buckets, options.width);
  return lines;
}

Result<int> line_width(const std::string& path, int height, int max_width) {
  const auto image = OCRTUNE_TRY(read_image(path));
  return width_bucket({image.width, image.height}, height, max_width);
}

Result<std::string> noise_picture(int width, int height, std::uint64_t seed) {
  Random random(seed);
  Image image{width, height, {}};
  image.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.next());
  return encode_png(image);
}

std::vector<std::pair<std::string, std::string>> versions() {
  const dnnl_version_t* onednn = dnnl_version();
  std::vector<std::pair<std::string, std::string>> versions = {
      {"oneDNN", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)}};
#if __has_include(<lmdb.h>)
  versions.emplace_back(
      "LMDB", fmt::format("{}.{}.{}", MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH));
#endif
  return versions;
}

constexpr EngineParts kParts = {Trainer::footprint_bytes,
                                Recognizer::footprint_bytes,
                                training_lines,
                                line_width,
                                widest_bucket,
                                noise_picture,
                                quantize_recognizer,
                                measure_step_rates,
                                versions};
constexpr EngineCommands kCommands = {declare_train,     declare_infer,  declare_import,
                                      declare_make_data, declare_worker, declare_infer_worker};

}  // namespace
}  // namespace ocrtune

// The linker is told this name, and takes this file for it (CMakeLists.txt).
extern "C" const bool kOcrtuneEngineIsHere;
extern "C" const bool kOcrtuneEngineIsHere = [] {
  ocrtune::set_engine_parts(&ocrtune::kParts);
  ocrtune::set_engine_commands(&ocrtune::kCommands);
  return true;
}();
