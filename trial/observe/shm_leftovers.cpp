// Whether a file is in use is asked of the kernel and not of /proc, which shows neither other
// users' processes nor other containers. Files are looked at while the members live, because
// afterwards nothing links them to the trial.
#include "trial/observe/shm_leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "core/comm/shm_comm.h"
#include "trial/proc/shm_files.h"

namespace ocrtune {
namespace {

std::set<std::string> names_in(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names) return {};
  return {names->begin(), names->end()};
}

// What stands before the pid, and after it, in the names that libraries give their segments.
struct NamePattern {
  std::string_view before;
  char after;
};
// The names of PyTorch, Paddle and joblib's loky.
constexpr std::array kPatterns = {NamePattern{"torch_", '_'}, NamePattern{"paddle_", '_'},
                                  NamePattern{"sem.loky-", '-'}, NamePattern{"loky-", '-'}};

// In a name that a library gave; nothing in any other.
std::optional<int> pid_in(std::string_view name) {
  for (const NamePattern& pattern : kPatterns) {
    if (!starts_with(name, pattern.before)) continue;
    const char* begin = name.data() + pattern.before.size();
    const char* end = name.data() + name.size();
    int pid = 0;
    const auto [rest, error] = std::from_chars(begin, end, pid);
    if (error == std::errc() && rest != end && *rest == pattern.after) return pid;
  }
  return std::nullopt;
}

bool carries_pid(std::string_view name, const std::set<int>& pids) {
  const auto pid = pid_in(name);
  return pid && pids.count(*pid) != 0;
}

// Beginnings of names in the folder that these paths name, also through links; "" is all of it.
std::vector<std::string> prefixes_in(const std::string& folder,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> prefixes;
  const std::string real_folder = real_path(folder).value_or(folder);
  for (const std::string& path : paths) {
    const std::string parent = parent_path(path);
    const std::string beside = real_path(parent.empty() ? "." : parent).value_or(parent);
    for (const std::string& one :
         {join_path(beside, base_name(path)), real_path(path).value_or("")}) {
      // The folder itself was named: everything in it stays.
      if (one == real_folder) prefixes.emplace_back();
      if (!one.empty() && parent_path(one) == real_folder) prefixes.push_back(base_name(one));
    }
  }
  return prefixes;
}

// Removes a regular file of this user's that nobody has open or mapped: the kernel grants a write
// lease on no other, whichever container its users are in.
bool remove_unused(const std::string& path) {
  // O_NONBLOCK for a FIFO; no link is followed, since it may name any file of this user.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  struct stat facts {};
  bool removed = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1 &&
                 facts.st_uid == ::geteuid();
  // A process that opens it now breaks the lease; the usual signal for that would end this process.
  removed = removed && ::fcntl(file, F_SETSIG, SIGURG) == 0 &&
            // fcntl(2): a write lease is granted only where no other open file refers to the file.
            ::fcntl(file, F_SETLEASE, F_WRLCK) == 0 && ::unlink(path.c_str()) == 0;
  ::close(file);
  return removed;
}

}  // namespace

ShmLeftovers::ShmLeftovers(std::string folder)
    : folder_(std::move(folder)), before_(names_in(folder_)) {}

void ShmLeftovers::look(const std::vector<ProcessFacts>& members) {
  for (const ShmFile& file : used_shm_files(members, folder_)) {
    if (file.writable) used_.insert(file.name);
  }
}

void remove_orphaned_segments(const std::string& folder, double min_age_seconds) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (const std::string& name : names_in(folder)) {
    const std::string path = join_path(folder, name);
    struct stat facts {};
    if (!is_segment_name(name) || ::lstat(path.c_str(), &facts) != 0) continue;
    const auto age = static_cast<double>(now.tv_sec - facts.st_mtim.tv_sec);
    if (age >= min_age_seconds) remove_unused(path);
  }
}

ShmLeftovers::Report ShmLeftovers::remove(const std::set<int>& pids, bool names_count) const {
  Report report;
  const std::vector<std::string> kept = prefixes_in(folder_, kept_);
  for (const std::string& name : names_in(folder_)) {
    if (before_.count(name) != 0) continue;
    // A name that a library gives is temporary whatever prefix the user named.
    const bool stays = !pid_in(name) && std::any_of(kept.begin(), kept.end(), [&](const auto& one) {
      return starts_with(name, one);
    });
    const bool own = !stays && (used_.count(name) != 0 || (names_count && carries_pid(name, pids)));
    const bool gone = own && remove_unused(join_path(folder_, name));
    (gone ? report.removed : report.left).push_back(name);
  }
  return report;
}

}  // namespace ocrtune
