// Where the samples of a place are: asked by programs that do not read them, too.
#include <algorithm>

#include "base/files.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"
#include "core/data/samples.h"

namespace ocrtune {
namespace {

// The value is a guess; it also ends a walk through links that go in circles.
constexpr int kDeepest = 8;

void add_folders(const std::string& path, int depth, std::vector<std::string>& found) {
  if (path_exists(join_path(path, "data.mdb"))) {
    found.push_back(path);
    return;
  }
  auto names = list_directory(path);
  if (!names || depth == kDeepest) return;
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    const std::string below = join_path(path, name);
    if (is_directory(below)) add_folders(below, depth + 1, found);
  }
}

}  // namespace

std::vector<std::string> lmdb_folders(const std::string& path) {
  std::vector<std::string> found;
  if (is_directory(path)) add_folders(path, 0, found);
  return found;
}

bool is_lmdb_folder(const std::string& path) { return !lmdb_folders(path).empty(); }

std::string samples_path(const std::string& place) {
  if (!is_directory(place)) return place;
  const std::string labels = join_path(place, kLabelFileName);
  return path_exists(labels) || !is_lmdb_folder(place) ? labels : place;
}

}  // namespace ocrtune
