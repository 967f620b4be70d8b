// Plain POSIX calls where durability or identity matters, std::filesystem elsewhere. A part beside
// a file and a temporary folder are locked by their maker (flock(2)) as long as it works. The lock
// ends with its holder, so what a killed process left is told from what a living one uses.
#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <system_error>

#include "base/environment.h"

namespace ocrtune {
namespace {

namespace fs = std::filesystem;

// The path that a chain of links ends at; a link to what does not exist yet counts too.
Result<std::string> link_target(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as many as the kernel follows (path_resolution(7))
  fs::path target = path;
  std::error_code code;
  for (int i = 0; i < kMaxLinks; ++i) {
    const fs::path next = fs::read_symlink(target, code);
    if (code) return target.string();
    target = target.parent_path() / next;  // an absolute `next` replaces all of it
  }
  return system_error(ELOOP, "write " + path);
}

Status sync_and_close(Descriptor& file, const std::string& path) {
  Status status;
  // EINVAL: a FIFO, a terminal and the like cannot be synced.
  if (::fsync(file.number) != 0 && errno != EINVAL) status = system_error(errno, "sync " + path);
  if (::close(file.number) != 0 && status) status = system_error(errno, "close " + path);
  file.number = -1;
  return status;
}

Status write_in_place(const std::string& path, std::string_view contents) {
  Descriptor file{::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC)};
  if (!file.is_open()) return system_error(errno, "write " + path);
  OCRTUNE_TRY(write_all(file.number, contents, path));
  return sync_and_close(file, path);
}

constexpr const char* kBesideBegin = ".ocrtune.";
constexpr const char* kBesideEnd = ".part";

// Removes what a process that was killed as it wrote left in the folder: nobody holds its lock, and
// it is a minute old. Once for each folder, for a folder may hold very many files.
void remove_abandoned(const std::string& folder) {
  // A maker opens its part before it locks it, and some file systems know no lock. A guess.
  constexpr double kAbandonedSeconds = 60;
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  for (const std::string& name : list_directory(folder).value_or({})) {
    if (name.rfind(kBesideBegin, 0) != 0 || fs::path(name).extension() != kBesideEnd) continue;
    const std::string path = join_path(folder, name);
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat facts {};
    // O_NOFOLLOW and O_NONBLOCK above: a link or a FIFO of such a name must not lead away or block.
    if (!file.is_open() || ::fstat(file.number, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (facts.st_uid != ::geteuid()) continue;
    if (std::difftime(std::time(nullptr), facts.st_mtime) < kAbandonedSeconds) continue;
    if (::flock(file.number, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

// A new file beside `path`, under a name that nobody else has; `beside` gets it. It is locked as
// long as it is open.
int create_beside(const std::string& path, std::string& beside) {
  constexpr int kTries = 100;
  static std::atomic<unsigned> count = 0;
  remove_abandoned(parent_path(path));
  for (int i = 0; i < kTries; ++i) {
    const std::string name =
        kBesideBegin + std::to_string(::getpid()) + "." + std::to_string(count++) + kBesideEnd;
    beside = join_path(parent_path(path), name);
    const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) ::flock(file, LOCK_EX | LOCK_NB);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

void sync_folder(const std::string& path) {
  const Descriptor folder{
      ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // Some file systems cannot sync a folder; the file's own bytes are safe by then.
  if (folder.is_open()) ::fsync(folder.number);
}

// `old` null: there is no such file yet. Errors: denied if the folder refuses a new file or name.
Status replace_file(const std::string& path, const struct stat* old, std::string_view contents) {
  std::string beside;
  Descriptor file{create_beside(path, beside)};
  if (!file.is_open()) return system_error(errno, "create " + path);
  if (old != nullptr) {
    // Of another's file root keeps the owner; who may not give it away owns the new one.
    const bool owned = ::fchown(file.number, old->st_uid, old->st_gid) == 0;
    // After fchown, which clears the set-user-ID bits. A file of another owner does not get them.
    ::fchmod(file.number, old->st_mode & (owned ? 07777 : 0777));
  }
  Status status = write_all(file.number, contents, path);
  if (const Status synced = sync_and_close(file, path); status) status = synced;
  if (status && ::rename(beside.c_str(), path.c_str()) != 0) {
    // Said as denied, so that the caller overwrites the file in place.
    const int code = errno == EBUSY ? EACCES : errno;  // a mount point
    status = system_error(code, "rename to " + path);
  }
  if (!status) {
    ::unlink(beside.c_str());
    return status;
  }
  sync_folder(parent_path(path));
  return status;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number >= 0) ::close(number);
}

Status write_all(int descriptor, std::string_view contents, const std::string& name) {
  while (!contents.empty()) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "write " + name);
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status();
}

bool is_still_at(int descriptor, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

double changed_seconds(const struct stat& facts) {
  return static_cast<double>(facts.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(facts.st_mtim.tv_nsec);
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file.is_open()) return system_error(errno, "open " + path);
  std::string contents;
  char block[65536];
  while (contents.size() < max_bytes) {
    // By read until the end, not by st_size, which is 0 in /proc and /sys.
    const auto room = std::min<std::uint64_t>(sizeof block, max_bytes - contents.size());
    const ssize_t got = ::read(file.number, block, static_cast<std::size_t>(room));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "read " + path);
    if (got == 0) break;
    contents.append(block, static_cast<std::size_t>(got));
  }
  return contents;
}

Status write_file(const std::string& path, std::string_view contents) {
  if (path == "-" || path == "/dev/stdout") {
    // By the stream, which keeps that it failed: who reads no further is no error of a command.
    const bool written =
        std::fwrite(contents.data(), 1, contents.size(), stdout) == contents.size() &&
        std::fflush(stdout) == 0;
    return written ? Status() : Status(system_error(errno, "write standard output"));
  }
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    return Error{ErrorKind::usage, path + " is a folder; name a file in it"};
  }
  if (exists && S_ISBLK(old.st_mode)) {
    return Error{ErrorKind::usage, path + " is a block device; name a file"};
  }
  if (exists && !S_ISREG(old.st_mode)) return write_in_place(path, contents);
  const std::string target = OCRTUNE_TRY(link_target(path));
  const Status status = replace_file(target, exists ? &old : nullptr, contents);
  // A folder that may not be written to, and a file that is a mount point of its own (a container's
  // bind mount), leave no other way.
  const bool in_place = exists && !status && status.error().kind == ErrorKind::denied;
  return in_place ? write_in_place(target, contents) : status;
}

Status make_directories(const std::string& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return system_error(code.value(), "create folder " + path);
  return Status();
}

Result<bool> make_folder(const std::string& path) {
  if (is_directory(path)) return false;
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (::mkdir(folder.c_str(), 0777) == 0) return true;
  const int code = errno;
  if (code == EEXIST && is_directory(path)) return false;  // another process was quicker
  if (code == EEXIST) return Error{ErrorKind::failed, path + " is a file, not a folder"};
  const std::string parent = parent_path(folder);
  if (code != ENOENT || is_directory(parent)) return system_error(code, "create folder " + path);
  return Error{ErrorKind::missing, "create folder " + path + ": there is no folder " + parent +
                                       "; check the path, or make it with mkdir -p"};
}

bool path_exists(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code);
}

Status check_there(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) return Status();
  Error error = system_error(errno, path);
  if (error.kind == ErrorKind::missing) error.what = path + " is not there";
  return error;
}

bool is_directory(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(path, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) return system_error(code.value(), "read folder " + path);
  std::sort(names.begin(), names.end());
  return names;
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  std::string path(folder);
  if (path.back() != '/') path += '/';
  return path + std::string(name);
}

Result<std::string> real_path(const std::string& path) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code);
  if (code) return system_error(code.value(), path);
  return real.string();
}

std::string parent_path(const std::string& path) { return fs::path(path).parent_path().string(); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

namespace {

// What is mounted below a folder belongs to others, bind mounts of this file system among it.
// Source: proc(5), mountinfo: the fifth field, blanks and backslashes as octal numbers.
bool holds_mount_point(const std::string& path) {
  const auto real = real_path(path);
  if (!real) return false;
  std::string needle = " ";
  for (const char letter : *real + "/") {
    if (letter == ' ' || letter == '\\' || letter == '\t' || letter == '\n') {
      needle += '\\';
      for (int shift = 6; shift >= 0; shift -= 3) {
        needle += static_cast<char>('0' + (letter >> shift & 7));
      }
    } else {
      needle += letter;
    }
  }
  return read_file("/proc/self/mountinfo").value_or("").find(needle) != std::string::npos;
}

// With the host: on a file system that several share, a lock may be known to its own host alone.
std::string temporary_prefix() {
  std::string name = host_name();
  std::replace(name.begin(), name.end(), '.', '-');
  return "ocrtune.tmp." + name + ".";
}

// A lock on a folder that its maker holds as long as it lives: who gets it knows that the maker is
// gone. Below 0, with errno: it is held (EWOULDBLOCK), or it is not this user's, or no lock can be
// had here (a network file system).
int lock_directory(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat facts {};
  // In /tmp anybody can make a folder of that name: another user's is neither locked nor removed.
  const bool own = ::fstat(file, &facts) == 0 && facts.st_uid == ::geteuid();
  if (own && ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int why = own ? errno : EPERM;
  ::close(file);
  errno = why;
  return -1;
}

void remove_orphaned_directories(const std::string& base, const std::string& prefix) {
  for (const std::string& name : list_directory(base).value_or({})) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string path = join_path(base, name);
    const int lock = lock_directory(path);
    if (lock < 0) continue;
    if (is_still_at(lock, path)) static_cast<void>(remove_tree(path));
    ::close(lock);
  }
}

}  // namespace

Result<std::string> make_temporary_directory(const std::string& tag) {
  static std::mutex mutex;
  // Never closed while the folder is there: the lock ends with this process, however it ends.
  static std::map<std::string, int> locks;  // of those that are still there
  static std::set<std::string> swept;
  const std::lock_guard guard(mutex);
  const char* variable = std::getenv("TMPDIR");
  const std::string base = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  std::erase_if(locks, [](const auto& one) {
    const bool gone = !is_still_at(one.second, one.first);
    if (gone) ::close(one.second);
    return gone;
  });
  const std::string prefix = temporary_prefix();
  if (swept.insert(base).second) remove_orphaned_directories(base, prefix);
  while (true) {
    std::string path = join_path(base, prefix + tag + ".XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return system_error(errno, "create folder " + path);
    const int lock = lock_directory(path);
    if (lock < 0 && errno != EWOULDBLOCK && errno != ENOENT) return path;  // nobody else gets one
    if (lock >= 0 && is_still_at(lock, path)) {
      locks[path] = lock;
      return path;
    }
    if (lock >= 0) ::close(lock);  // taken for an orphan between two of the lines above
  }
}

Status remove_tree(const std::string& path) {
  // std::filesystem would cross the mount and empty what belongs to others.
  if (holds_mount_point(path)) {
    return Error{ErrorKind::denied, "remove " + path + ": something is mounted in it"};
  }
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return system_error(code.value(), "remove " + path);
  return Status();
}

namespace {

// Empty without a home.
std::string home_data_directory() {
  const char* xdg = std::getenv("XDG_DATA_HOME");
  if (xdg != nullptr && *xdg == '/') return join_path(xdg, "ocrtune");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return join_path(home, ".local/share/ocrtune");
  return "";
}

}  // namespace

std::string default_data_directory() {
  const std::string at_home = home_data_directory();
  return at_home.empty() ? "/tmp/ocrtune-" + std::to_string(::geteuid()) : at_home;
}

Status make_data_directory() {
  const std::string path = default_data_directory();
  OCRTUNE_TRY(make_directories(parent_path(path)));
  if (::mkdir(path.c_str(), 0700) == 0) return Status();
  if (errno != EEXIST) return system_error(errno, "create folder " + path);
  // A home is the user's own. Only in /tmp can another user have made the folder first.
  if (!home_data_directory().empty()) return Status();
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return system_error(errno, path);
  const bool own = S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
  if (own && (facts.st_mode & 022) == 0) return Status();
  return Error{
      ErrorKind::denied,
      path + (own ? " may be written to by other users" : " is no folder of this user's own") +
          "; remove it, or set HOME or XDG_DATA_HOME"};
}

FileRoot::FileRoot(std::string directory) : directory_(std::move(directory)) {
  while (!directory_.empty() && directory_.back() == '/') directory_.pop_back();
}

std::string FileRoot::path(std::string_view absolute) const {
  return directory_ + std::string(absolute);
}

Result<std::string> FileRoot::read(std::string_view absolute) const {
  // A guess that bounds what one file of a saved tree can cost.
  return read_file(path(absolute), 16ULL << 20);
}

bool FileRoot::exists(std::string_view absolute) const { return path_exists(path(absolute)); }

Result<std::vector<std::string>> FileRoot::list(std::string_view absolute) const {
  return list_directory(path(absolute));
}

}  // namespace ocrtune
