// fcntl(2) locks of the classic kind: they name their holder (F_GETLK), and no child inherits them.
// The first close of any descriptor of the file in this process gives the lock up, so nothing else
// here may open it.
#include "probes/host/machine_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/process_tree.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr const char* kFileName = "ocrtune.lock";
// Polled, for a signal here only sets a flag (base/interrupt.h) and would not end F_SETLKW.
constexpr double kPollSeconds = 0.2;

std::vector<std::string> lock_folders() {
  const char* own = std::getenv("OCRTUNE_LOCK_DIR");
  if (own != nullptr && *own != '\0') return {own};
  std::vector<std::string> folders = {"/tmp"};
  const char* of_user = std::getenv("XDG_RUNTIME_DIR");
  if (of_user != nullptr && *of_user == '/') folders.emplace_back(of_user);
  return folders;
}

// Of the folder that the user has named for the lock file.
Status check_own_folder() {
  const char* own = std::getenv("OCRTUNE_LOCK_DIR");
  if (own == nullptr || *own == '\0') return Status();
  const std::string name = "OCRTUNE_LOCK_DIR: ";
  if (const Status there = check_there(own); !there) {
    return Error{there.error().kind, name + there.error().what};
  }
  if (!is_directory(own)) return Error{ErrorKind::usage, name + own + " is no folder"};
  if (::access(own, W_OK | X_OK) != 0) return system_error(errno, name + own);
  return Status();
}

// The descriptor, or -1. What others may have put there, a link or a FIFO, is not opened.
int open_lock_file(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  // Without O_CREAT first: the kernel refuses that for other users' files in /tmp
  // (fs.protected_regular).
  int file = ::open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) {
    file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
    if (file >= 0) ::fchmod(file, 0666);  // whatever the umask: for all users
    if (file < 0 && errno == EEXIST) file = ::open(path.c_str(), kFlags);
  }
  struct stat facts {};
  if (file >= 0 && (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))) {
    ::close(file);
    file = -1;
  }
  return file;
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// The process that has the lock; 0: nobody, or one of another PID namespace.
int holder_of(int file) {
  struct flock lock = whole_file();
  if (::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return std::max(lock.l_pid, 0);
}

bool started_this_process(int pid) {
  for (int at = ::getppid(); at > 0;) {
    if (at == pid) return true;
    const auto line = read_file(fmt::format("/proc/{}/stat", at), 4096);
    const auto facts = line ? parse_process_stat(*line) : Result<ProcessFacts>(line.error());
    at = facts ? facts->parent : 0;
  }
  return false;
}

// Program and command only: an argument may be a secret.
std::string describe_holder(int file, int pid) {
  struct stat facts {};
  const bool timed = ::fstat(file, &facts) == 0;  // touched when the lock was taken
  const std::string since =
      timed ? fmt::format(", since {:%H:%M:%S}", fmt::localtime(facts.st_mtime)) : "";
  if (pid == 0) return "a process of another container" + since;
  const std::string arguments = read_file(fmt::format("/proc/{}/cmdline", pid), 4096).value_or("");
  const std::vector<std::string> parts = split(arguments, '\0');
  std::string name = parts.empty() ? "" : base_name(parts[0]);
  if (parts.size() > 1) name += " " + parts[1];
  return fmt::format("{} (process {}{})", name.empty() ? "another" : name, pid, since);
}

}  // namespace

Error waited_too_long(const std::string& holder) {
  return {ErrorKind::exhausted,
          fmt::format("waited {} for {}: end it, or let OCRTUNE_LOCK_DIR name another folder to "
                      "measure beside it",
                      format_duration(kMaxTurnSeconds), holder)};
}

std::string boot_id() {
  return std::string(trim(read_file("/proc/sys/kernel/random/boot_id").value_or("")));
}

Result<MachineLock> MachineLock::take(bool wait,
                                      const std::function<void(const std::string&)>& waiting,
                                      Clock& clock) {
  std::string path;
  int file = -1;
  const auto reopen = [&] {
    for (const std::string& folder : lock_folders()) {
      path = join_path(folder, kFileName);
      file = open_lock_file(path);
      if (file >= 0) return;
    }
  };
  reopen();
  if (file < 0) OCRTUNE_TRY(check_own_folder());
  bool told = false;
  const double end = clock.now_seconds() + kMaxTurnSeconds;
  while (file >= 0) {
    struct flock lock = whole_file();
    if (::fcntl(file, F_SETLK, &lock) == 0) {
      if (is_still_at(file, path)) {
        // The time of the file says to others since when it is held; nothing is written into it.
        ::futimens(file, nullptr);
        break;
      }
      ::close(file);  // removed while this process waited
      reopen();
      continue;
    }
    MachineLock opened(file);                                        // closes it on every way out
    if (errno != EACCES && errno != EAGAIN) return MachineLock(-1);  // no locks on this file system
    const int holder = holder_of(file);
    if (started_this_process(holder)) return MachineLock(-1);
    const std::string who = describe_holder(file, holder);
    if (waiting && !std::exchange(told, true)) waiting(who);
    if (!wait) {
      return Error{ErrorKind::exhausted,
                   who + " is measuring on this machine; try again after its end"};
    }
    if (clock.now_seconds() >= end) return waited_too_long(who);
    clock.sleep_seconds(kPollSeconds);
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while waiting for " + who};
    opened.file_ = -1;
  }
  return MachineLock(file);
}

MachineLock::MachineLock(MachineLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

MachineLock::~MachineLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace ocrtune
