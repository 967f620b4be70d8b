// Two ways with different costs. A look lists all descriptors of a process; a glance asks for the
// few numbers that open() would give next, since it takes the lowest free one (open(2)).
#include "trial/stages/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/stages/page_cache.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxFiles = 1 << 16;  // that are remembered
constexpr std::size_t kMaxPaths = 1 << 12;  // of these, by path
constexpr std::size_t kMaxOpen = 256;       // of one process that are looked at
constexpr std::size_t kMaxReaders = 16;
constexpr std::size_t kEnough = 16;  // files seen at a glance: the rest stands beside them
constexpr std::size_t kProbes = 16;  // of one glance, right after each other, some 2 us each
constexpr int kFreeNumbers = 3;      // threads may open files at the same time

// Where a descriptor leads; empty: it is not open, or is no file that has a name.
std::string target_of(int folder, int number) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlinkat(folder, std::to_string(number).c_str(), target.data(), 4096);
  const std::string_view path(target.data(), static_cast<std::size_t>(length < 0 ? 0 : length));
  const bool named = starts_with(path, "/") && !starts_with(path, "/proc/") &&
                     !starts_with(path, "/dev/") && !starts_with(path, "/sys/");
  return named || starts_with(path, "/dev/shm/") ? std::string(path) : std::string();
}

}  // namespace

void OpenFiles::forget_others(const std::set<int>& alive) {
  std::erase_if(readers_, [&](const auto& reader) { return !alive.contains(reader.first); });
}

void OpenFiles::look(int pid, bool reads_much) {
  // Its standing descriptors are found anew.
  readers_.erase(pid);
  const std::string folder = root_.path(fmt::format("/proc/{}/fd", pid));
  const auto descriptors = list_directory(folder);
  if (!descriptors) return;
  std::set<int> standing;
  for (std::size_t i = 0; i < descriptors->size() && i < kMaxOpen; ++i) {
    const std::string link = folder + "/" + (*descriptors)[i];
    standing.insert(std::atoi((*descriptors)[i].c_str()));  // NOLINT(cert-err34-c): numbers only
    struct stat opened {};
    // The link's mode says how the file was opened.
    if (::lstat(link.c_str(), &opened) != 0 || (opened.st_mode & S_IRUSR) == 0) continue;
    note(link, false);
  }
  // Where not all were looked at, the free numbers are not known.
  if (!reads_much || readers_.size() >= kMaxReaders || descriptors->size() > kMaxOpen) return;
  Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) readers_[pid] = {std::move(opened), std::move(standing)};
}

void OpenFiles::note(const std::string& path, bool at_a_glance) {
  struct stat file {};
  // Empty files and devices are no data.
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) return;
  if (files_.size() >= kMaxFiles) return;
  const auto [entry, fresh] = files_.try_emplace({file.st_dev, file.st_ino});
  entry->second = static_cast<std::uint64_t>(file.st_size);
  // The file counts with its size, and only its name is not kept.
  if (!fresh || paths_.size() >= kMaxPaths) return;
  auto named = real_path(path);
  if (!named) return;
  if (at_a_glance) brief_.insert(*named);
  paths_.push_back(*std::move(named));
}

void OpenFiles::glance() {
  if (brief_.size() >= kEnough) return;
  // In turns, by pid, so that one reader does not take all glances.
  auto turn = readers_.upper_bound(next_);
  if (turn == readers_.end()) turn = readers_.begin();
  if (turn == readers_.end()) return;
  next_ = turn->first;
  const auto& [folder, standing] = turn->second;
  std::array<int, kFreeNumbers> free{};
  int number = 0;
  for (int& one : free) {
    while (standing.contains(number)) ++number;
    one = number++;
  }
  std::string last;
  for (std::size_t i = 0; i < kProbes; ++i) {  // the lowest number at every second one
    const std::string path =
        // The first free number is asked for each second time, the further ones in between.
        target_of(folder.number, free.at(i % 2 == 0 ? 0 : i / 2 % free.size()));
    if (!path.empty() && path != last) note(path, true);
    if (!path.empty()) last = path;
  }
}

void OpenFiles::fill(StageUse& use) const {
  for (const auto& [file, bytes] : files_) use.opened_bytes += bytes;
  use.opened_count = static_cast<std::int64_t>(files_.size());
  const FilesBeside beside = files_beside(paths_, brief_, 2);
  use.opened_bytes += beside.bytes;
  use.opened_count += beside.count;
  use.opened_files = std::make_shared<const std::vector<std::string>>(paths_);
}

}  // namespace ocrtune
