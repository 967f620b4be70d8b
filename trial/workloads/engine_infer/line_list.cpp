// A folder is listed whole and sorted, since the order of a directory is that of its file system. A
// list keeps its order, and a name that stands in it twice is read twice.
#include "trial/workloads/engine_infer/line_list.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

namespace fs = std::filesystem;

bool names_image(const std::string& path) {
  const std::string name = lower(path);
  return ends_with(name, ".png") || ends_with(name, ".jpg") || ends_with(name, ".jpeg");
}

Result<LineList> read_folder(const std::string& folder) {
  LineList list;
  std::error_code code;
  for (auto entry = fs::recursive_directory_iterator(folder, code);
       !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (entry->is_directory(code)) continue;
    const std::string path = entry->path().string();
    if (names_image(path)) {
      list.paths.push_back(path);
    } else {
      ++list.other_files;
    }
  }
  if (code) return system_error(code.value(), "read folder " + folder);
  std::sort(list.paths.begin(), list.paths.end());
  for (const std::string& path : list.paths) {
    list.names.push_back(fs::path(path).lexically_relative(folder).string());
  }
  if (!list.paths.empty()) return list;
  const std::string others = how_many(list.other_files, "other file") + ")";
  return Error{ErrorKind::missing, folder + " holds no PNG or JPEG images" +
                                       (list.other_files == 0 ? "" : " (and " + others)};
}

Result<LineList> read_list(const std::string& path) {
  // Lists of data sets with millions of lines are large: up to 8 GiB.
  const auto text = OCRTUNE_TRY(read_file(path, 8ULL << 30));
  LineList list;
  std::set<std::string> seen;
  std::string_view rest = text;
  // A byte order mark of UTF-8.
  if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
  bool all_labelled = true;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    std::string name(line.substr(0, tab));
    all_labelled = all_labelled && tab != std::string_view::npos;
    list.truths.emplace_back(tab == std::string_view::npos ? "" : line.substr(tab + 1));
    list.paths.push_back(starts_with(name, "/") ? name : join_path(parent_path(path), name));
    if (!seen.insert(name).second) ++list.repeated;
    list.names.push_back(std::move(name));
  }
  // Some lines without a text: then texts are of no use to compare with.
  if (!all_labelled) list.truths.clear();
  if (list.paths.empty()) return Error{ErrorKind::missing, path + " names no image"};
  return list;
}

}  // namespace

Result<LineList> read_line_list(const std::string& place) {
  if (!path_exists(place)) return Error{ErrorKind::missing, place + " is not there"};
  if (!is_directory(place)) return read_list(place);
  const std::string labels = join_path(place, "labels.txt");
  return path_exists(labels) ? read_list(labels) : read_folder(place);
}

}  // namespace ocrtune
