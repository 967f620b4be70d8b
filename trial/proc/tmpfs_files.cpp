// Whether a file is the trial's is told by its time of birth (statx(2), not on older kernels) and
// by a member that wrote it. Folders found on the way are looked through as well, up to a bound.
#include "trial/proc/tmpfs_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctime>
#include <optional>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMostEntries = 20000;  // of the folders that are looked through
constexpr std::uint64_t kStatxBlock = 512;   // of stx_blocks

struct FileFacts {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  double born = 0;  // seconds of the wall clock; 0: the file system does not say
  bool regular = false, folder = false, sticky = false;
};

std::optional<FileFacts> facts_of(const std::string& path) {
  struct statx found {};
  const unsigned mask = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, mask, &found) != 0) return std::nullopt;
  FileFacts facts;
  facts.device = ::makedev(found.stx_dev_major, found.stx_dev_minor);
  facts.inode = found.stx_ino;
  facts.bytes = found.stx_blocks * kStatxBlock;
  if ((found.stx_mask & STATX_BTIME) != 0) {
    facts.born = static_cast<double>(found.stx_btime.tv_sec) + 1e-9 * found.stx_btime.tv_nsec;
  }
  facts.regular = S_ISREG(found.stx_mode);
  facts.folder = S_ISDIR(found.stx_mode);
  facts.sticky = (found.stx_mode & S_ISVTX) != 0;
  return facts;
}

}  // namespace

TmpfsFiles::TmpfsFiles() : paths_(read_file("/proc/self/mountinfo", 4 << 20).value_or("")) {
  // The coarse clock that the kernel stamps files with.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  began_ = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void TmpfsFiles::note(const std::vector<ShmFile>& open) {
  for (const ShmFile& file : open) {
    if (!file.writable || file.path.empty()) continue;
    const auto [at, fresh] = written_.try_emplace({file.device, file.inode});
    if (!fresh) continue;
    at->second.path = file.path;
    const auto facts = facts_of(file.path);
    // Without a time of birth the whole file counts as the trial's.
    const bool old = facts && facts->born > 0 && facts->born < began_;
    at->second.before_bytes = old ? file.bytes : 0;
    const std::string folder = parent_path(file.path);
    const auto around = facts_of(folder);
    // Everybody writes to such a folder, so what is new there proves nothing.
    if (around && around->folder && !around->sticky) folders_.insert(folder);
  }
}

std::uint64_t TmpfsFiles::bytes_before(const ShmFile& file) const {
  const auto found = written_.find({file.device, file.inode});
  return found == written_.end() ? 0 : found->second.before_bytes;
}

std::uint64_t TmpfsFiles::closed_bytes(const std::vector<ShmFile>& open) {
  std::set<Identity> counted;
  // Open files are counted by the caller.
  for (const ShmFile& file : open) counted.insert({file.device, file.inode});
  std::uint64_t bytes = 0;
  const auto count = [&](const FileFacts& facts, std::uint64_t before) {
    if (!counted.insert({facts.device, facts.inode}).second) return;
    bytes += facts.bytes > before ? facts.bytes - before : 0;
  };
  // One that is open has its bytes before the trial here, also under another name by now.
  std::erase_if(written_, [&](const auto& one) {
    const auto& [identity, written] = one;
    const auto facts = facts_of(written.path);
    // Another file may have taken the path since.
    const bool same = facts && Identity(facts->device, facts->inode) == identity;
    const bool is_open = counted.contains(identity);
    if (same && facts->regular) count(*facts, written.before_bytes);
    return !same && !is_open;
  });
  std::vector<std::string> folders(folders_.begin(), folders_.end());
  std::size_t entries = 0;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (const std::string& name :
         list_directory(folders[i]).value_or(std::vector<std::string>())) {
      if (++entries > kMostEntries) return bytes;
      const std::string path = join_path(folders[i], name);
      const auto facts = facts_of(path);
      if (!facts || facts->born < began_) continue;
      // Also folders that were made since: a data set is unpacked with its folders.
      if (facts->folder && !folders_.contains(path)) folders.push_back(path);
      if (facts->regular) count(*facts, 0);
    }
  }
  return bytes;
}

}  // namespace ocrtune
