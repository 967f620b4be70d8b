// Which files belong to a data set is not known: a few were seen, and those of the same ending
// beside them are taken for the rest. Nothing is written or synchronised, so pages that wait to be
// written stay in memory.
#include "trial/stages/page_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxBeside = 1 << 18;
constexpr std::size_t kMaxSizes = 1 << 14;

std::uint64_t drop(const std::string& path) {
  // A FIFO or a device would block, or do what it does when it is opened.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return 0;
  struct stat facts {};
  const bool dropped = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                       ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(file);
  return dropped ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

// ".jpg"; empty: the name has none.
std::string ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : std::string(name.substr(dot));
}

using Kind = std::pair<std::string, std::string>;  // a folder and an ending

std::vector<std::string> of_kind(const Kind& kind) {
  std::vector<std::string> found;
  const auto names = list_directory(kind.first);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (ends_with(name, kind.second)) found.push_back(join_path(kind.first, name));
  }
  return found;
}

// The kinds of which enough was seen, and those in the folders beside where two of them were.
std::set<Kind> kinds_of(const std::vector<std::string>& seen, const std::set<std::string>& surely,
                        int least) {
  std::map<Kind, int> counts;
  for (const std::string& path : seen) {
    const std::string folder = parent_path(path), name = base_name(path);
    // A file seen at a glance was open for a moment only: one of a data set.
    if (!ending(name).empty()) counts[{folder, ending(name)}] += surely.contains(path) ? least : 1;
  }
  std::set<Kind> kinds;
  std::map<Kind, int> above;
  for (const auto& [kind, count] : counts) {
    ++above[{parent_path(kind.first), kind.second}];
    if (count >= least) kinds.insert(kind);
  }
  // One ending in two folders beside each other: the folders are classes or parts of one set.
  for (const auto& [kind, folders] : above) {
    if (folders < 2) continue;
    const auto names = list_directory(kind.first);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      const std::string folder = join_path(kind.first, name);
      if (kinds.size() < kMaxBeside && is_directory(folder)) kinds.emplace(folder, kind.second);
    }
  }
  return kinds;
}

std::uint64_t size_of(const std::vector<std::string>& files) {
  // Sizes of 16,384 files are asked for, spread evenly; the sum is scaled up.
  const std::size_t step = std::max<std::size_t>(1, files.size() / kMaxSizes);
  double bytes = 0, looked = 0;
  for (std::size_t i = 0; i < files.size(); i += step, ++looked) {
    struct stat facts {};
    const bool regular = ::stat(files[i].c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
    if (regular) bytes += static_cast<double>(facts.st_size);
  }
  if (looked == 0) return 0;
  return static_cast<std::uint64_t>(bytes / looked * static_cast<double>(files.size()));
}

}  // namespace

FilesBeside files_beside(const std::vector<std::string>& seen, const std::set<std::string>& surely,
                         int least) {
  FilesBeside beside;
  const std::set<std::string> known(seen.begin(), seen.end());
  for (const Kind& kind : kinds_of(seen, surely, least)) {
    for (std::string& path : of_kind(kind)) {
      if (beside.paths.size() >= kMaxBeside || known.contains(path)) continue;
      beside.paths.push_back(std::move(path));
    }
  }
  beside.count = static_cast<std::int64_t>(beside.paths.size());
  beside.bytes = size_of(beside.paths);
  return beside;
}

bool reads_from_disk(const StageUse& use) {
  constexpr double kFromDisk = 0.02;
  return use.storage_bytes_per_second > kFromDisk * use.read_bytes_per_second;
}

bool reads_from_memory(const StageUse& use) {
  // Guesses, but for the 2 % in reads_from_disk(); docs/trial.md has the rule in words.
  constexpr double kMuch = 32e6, kRead = 0.5, kPlenty = 256e6, kRate = 3e6;
  constexpr std::int64_t kSeveral = 100, kMany = 1000;
  const auto files = static_cast<double>(use.opened_bytes);
  const double read = use.read_bytes_per_second * use.observed_seconds;
  // Small files are slow for their number. A pass over many takes longer than a trial; of a few,
  // which may be open and not be read, a good part must have been.
  const bool many = files >= kMuch || use.opened_count >= kMany;
  const bool pass = use.opened_count >= kSeveral && use.read_bytes_per_second >= kRate;
  return many && (pass || read >= kRead * std::min(files, kPlenty)) && !reads_from_disk(use);
}

std::uint64_t drop_from_memory(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& path : files) bytes += drop(path);
  for (const std::string& path : files_beside(files, {}, 1).paths) bytes += drop(path);
  return bytes;
}

}  // namespace ocrtune
