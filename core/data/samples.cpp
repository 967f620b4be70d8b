#include "core/data/samples.h"

#include <utility>

#include "base/files.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"

namespace ocrtune {

std::string samples_path(const std::string& place) {
  if (!is_directory(place)) return place;
  const std::string labels = join_path(place, kLabelFileName);
  return path_exists(labels) || !is_lmdb_folder(place) ? labels : place;
}

Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path,
                                                   const std::string& alphabet_text) {
  if (is_lmdb_folder(path)) {
    auto source = LmdbSource::open(path, alphabet_text);
    if (!source) return source.error();
    return std::unique_ptr<SampleSource>(std::move(source).value());
  }
  auto source = LabelFile::read(path, alphabet_text);
  if (!source) return source.error();
  return std::unique_ptr<SampleSource>(std::move(source).value());
}

}  // namespace ocrtune
