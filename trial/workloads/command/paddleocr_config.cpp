// Only the keys that decide a launch are read, with PaddleOCR's own defaults; what is missing or of
// another type gives the default. Overrides are merged into the document before it is read, as
// PaddleOCR does.
#include "trial/workloads/command/paddleocr_config.h"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

template <typename T>
T scalar(const YAML::Node& node, T fallback) {
  if (!node || !node.IsScalar()) return fallback;
  return node.as<T>(fallback);
}

YAML::Node child(const YAML::Node& node, const char* name) {
  return node && node.IsMap() ? node[name] : YAML::Node(YAML::NodeType::Undefined);
}

// The size of a training image: the sampler's first scale [w, h], or the [3, h, w] of a resize
// step.
void read_image_size(const YAML::Node& train, PaddleOcrConfig& config) {
  const YAML::Node scales = child(child(train, "sampler"), "scales");
  if (scales && scales.IsSequence() && scales.size() > 0 && scales[0].IsSequence() &&
      scales[0].size() == 2) {
    config.width = scalar(scales[0][0], 0);
    config.height = scalar(scales[0][1], 0);
    return;
  }
  const YAML::Node transforms = child(child(train, "dataset"), "transforms");
  if (!transforms || !transforms.IsSequence()) return;
  for (const YAML::Node& step : transforms) {
    if (!step.IsMap()) continue;
    for (const auto& entry : step) {
      const YAML::Node shape = child(entry.second, "image_shape");
      if (shape && shape.IsSequence() && shape.size() == 3) {
        config.height = scalar(shape[1], 0);
        config.width = scalar(shape[2], 0);
      }
    }
  }
}

std::string in_folder(const std::string& directory, const std::string& path) {
  return path.empty() || path[0] == '/' || directory.empty() ? path : join_path(directory, path);
}

Result<std::int64_t> count_lines(const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    return Error{text.error().kind, "Train.dataset.label_file_list: " + text.error().what};
  }
  const auto ends = std::count(text->begin(), text->end(), '\n');
  return ends + (!text->empty() && text->back() != '\n' ? 1 : 0);
}

Status count_all_lines(const YAML::Node& dataset, const std::string& directory,
                       PaddleOcrConfig& config) {
  const YAML::Node files = child(dataset, "label_file_list");
  if (!files || (!files.IsSequence() && !files.IsScalar())) return Status();
  const YAML::Node ratios = child(dataset, "ratio_list");
  double lines = 0;
  const std::size_t count = files.IsSequence() ? files.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto path = scalar<std::string>(files.IsSequence() ? files[i] : files, "");
    if (path.empty()) continue;
    config.label_files.push_back(path);
    path = in_folder(directory, path);
    const auto number = OCRTUNE_TRY(count_lines(path));
    double ratio = 1;
    if (ratios && ratios.IsSequence() && i < ratios.size()) ratio = scalar(ratios[i], 1.0);
    // One ratio may stand for all files.
    if (ratios && ratios.IsScalar()) ratio = scalar(ratios, 1.0);
    lines += static_cast<double>(number) * ratio;
  }
  config.lines = static_cast<std::int64_t>(lines);
  return Status();
}

// As PaddleOCR merges them: down the dicts of a dotted path. A key is replaced, not assigned to: an
// anchor (first_bs: &bs) shares its node with its aliases.
Status override_key(const YAML::Node& document, const std::string& key, const std::string& value) {
  const std::vector<std::string> path = split(key, '.');
  YAML::Node at = document;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (!at.IsMap() || !at[path[i]]) {
      if (i > 0) return Status();  // PaddleOCR makes the dict: nothing here depends on it
      return Error{ErrorKind::usage,
                   fmt::format("-o {}={}: the config has no section {}", key, value, path[i])};
    }
    at.reset(at[path[i]]);
  }
  if (!at.IsMap()) return Status();
  YAML::Node parsed;
  try {
    // PaddleOCR reads each value as YAML; what is none is a text.
    parsed = YAML::Load(value);
  } catch (const YAML::Exception&) {
    parsed = YAML::Node(value);
  }
  at.remove(path.back());
  at[path.back()] = parsed;
  return Status();
}

Result<PaddleOcrConfig> read_document(const YAML::Node& document, const std::string& path,
                                      const std::string& directory) {
  const YAML::Node train = child(document, "Train");
  const YAML::Node loader = child(train, "loader");
  if (!loader || !loader.IsMap()) {
    return Error{ErrorKind::invalid, path + " has no Train.loader: not a PaddleOCR config"};
  }
  PaddleOcrConfig config;
  const YAML::Node global = child(document, "Global");
  const YAML::Node sampler = child(train, "sampler");
  config.has_sampler = sampler && sampler.IsMap();
  config.batch = scalar(loader["batch_size_per_card"], 1);
  // With a sampler its first_bs is the batch.
  if (config.has_sampler) config.batch = scalar(sampler["first_bs"], config.batch);
  config.workers = scalar(loader["num_workers"], 0);
  config.shared_memory = scalar(loader["use_shared_memory"], true);
  config.use_gpu = scalar(child(global, "use_gpu"), true);
  config.use_amp = scalar(child(global, "use_amp"), false);
  config.evaluates_by_epoch = scalar(child(global, "eval_batch_epoch"), 0) > 0;
  const YAML::Node interval = child(global, "eval_batch_step");
  // [start, interval], or the interval alone.
  const bool pair = interval && interval.IsSequence() && interval.size() == 2;
  config.evaluation_steps = std::max(0, scalar(pair ? interval[1] : interval, 0));
  config.has_evaluation = child(document, "Eval").IsDefined();
  config.epochs = scalar(child(global, "epoch_num"), 1);
  config.dictionary = scalar<std::string>(child(global, "character_dict_path"), "");
  config.data_directory = scalar<std::string>(child(child(train, "dataset"), "data_dir"), "");
  read_image_size(train, config);
  OCRTUNE_TRY(count_all_lines(child(train, "dataset"), directory, config));
  return config;
}

}  // namespace

Result<PaddleOcrConfig> read_paddleocr_config(const std::string& path, const std::string& directory,
                                              const ConfigOverrides& overrides) {
  const auto text = OCRTUNE_TRY(read_file(path, 16 << 20));
  try {
    const YAML::Node document = YAML::Load(text);
    for (const auto& [key, value] : overrides) {
      // A placeholder has no value yet.
      if (!document.IsMap() || value.find('{') != std::string::npos) continue;
      OCRTUNE_TRY(override_key(document, key, value));
    }
    return read_document(document, path, directory);
  } catch (const YAML::Exception& error) {
    return Error{ErrorKind::invalid,
                 fmt::format("{}:{}: not YAML: {}", path, error.mark.line + 1, error.msg)};
  }
}

Status look_for_paddleocr_files(const PaddleOcrConfig& config, const std::string& directory) {
  constexpr std::size_t kLooked = 100;  // lines of each label file
  if (!config.dictionary.empty() && !path_exists(in_folder(directory, config.dictionary))) {
    return Error{
        ErrorKind::missing,
        fmt::format("dictionary {} not found (Global.character_dict_path)", config.dictionary)};
  }
  for (const std::string& name : config.label_files) {
    const auto text = OCRTUNE_TRY(read_file(in_folder(directory, name)));
    std::size_t lines = 0, absent = 0;
    std::string first;
    for (std::size_t at = 0; at < text.size() && lines < kLooked; ++lines) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string image = text.substr(at, std::min(text.find('\t', at), end) - at);
      at = end + 1;
      // PaddleOCR takes a list of images, of which it draws one: ["a.png", "b.png"].
      if (image.empty() || image[0] == '[') continue;
      if (path_exists(in_folder(directory, in_folder(config.data_directory, image)))) continue;
      if (absent++ == 0) first = image;
    }
    if (absent == 0) continue;
    return Error{
        ErrorKind::invalid,
        fmt::format("{}: {} not found in {} ({} of the first {} images are missing; "
                    "Train.dataset.data_dir is their folder)",
                    name, first, config.data_directory.empty() ? "." : config.data_directory,
                    absent, lines)};
  }
  return Status();
}

double shm_need_bytes(const PaddleOcrConfig& config, int batch, int workers) {
  if (!config.shared_memory || workers < 1) return 0;
  // Two batches for each worker, three channels, four bytes a value.
  return 2.0 * workers * batch * 3.0 * config.height * config.width * sizeof(float);
}

}  // namespace ocrtune
