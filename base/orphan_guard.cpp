#include "base/orphan_guard.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 1 << 16;

// The layout of getdents64(2); libc's readdir allocates, which a forked child must not.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// True when the environment of `pid` has the needle ("OCRTUNE_TREE=<mark>.") at the start of a
// variable.
bool carries(const char* pid, const char* needle, std::size_t needle_size, char* block) {
  std::array<char, 64> path{};
  std::strcpy(path.data(), "/proc/");  // NOLINT: the sizes are known
  std::strncat(path.data(), pid, 20);
  std::strcat(path.data(), "/environ");  // NOLINT: the sizes are known
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::size_t kept = 0;  // the end of the last block, where the needle may begin
  bool found = false;
  while (!found) {
    const ssize_t got = ::read(file, block + kept, kBlock - kept);
    if (got <= 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(got);
    found = ::memmem(block, size, needle, needle_size) != nullptr;
    kept = std::min(needle_size, size);
    std::memmove(block, block + size - kept, kept);
  }
  ::close(file);
  return found;
}

// One pass over /proc; returns how many it has killed.
int kill_marked(const char* needle, std::size_t needle_size) {
  static char entries[kBlock];
  static char block[kBlock];
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  const int self = ::getpid();
  int killed = 0;
  while (true) {
    const long got = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      DirectoryEntry entry{};
      std::memcpy(&entry, entries + at, offsetof(DirectoryEntry, name));
      const char* name = entries + at + offsetof(DirectoryEntry, name);
      at += entry.length;
      if (*name < '0' || *name > '9') continue;
      int pid = 0;
      for (const char* digit = name; *digit >= '0' && *digit <= '9'; ++digit) {
        pid = pid * 10 + (*digit - '0');
      }
      if (pid == self || !carries(name, needle, needle_size, block)) continue;
      killed += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
    }
  }
  ::close(folder);
  return killed;
}

// Runs in the forked child for good: system calls only.
[[noreturn]] void guard(int alive, const char* needle, std::size_t needle_size) {
  ::setsid();
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::dup2(alive, 3);
  ::syscall(SYS_close_range, 4U, ~0U, 0U);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) ::dup2(nothing, standard);
  if (nothing > 3) ::close(nothing);
  char byte = 0;
  while (::read(3, &byte, 1) < 0 && errno == EINTR) {
  }
  // A process that forks while we look is caught by a later pass: five empty ones end it.
  for (int empty = 0; empty < 5;) {
    empty = kill_marked(needle, needle_size) == 0 ? empty + 1 : 0;
    timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::_exit(0);
}

}  // namespace

const std::string& process_mark() {
  static std::string mark;
  static int owner = 0;
  if (owner != ::getpid()) {  // a forked copy of us is another process
    owner = ::getpid();
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    mark = fmt::format("{}-{:x}{:08x}", owner, now.tv_sec, now.tv_nsec);
  }
  return mark;
}

bool start_orphan_guard() {
  static int owner = 0;
  if (owner == ::getpid()) return true;
  const std::string needle = fmt::format("{}={}.", kTreeVariable, process_mark());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const pid_t first = ::fork();
  if (first < 0) return false;
  if (first == 0) {
    if (::fork() == 0) guard(ends[0], needle.data(), needle.size());
    ::_exit(0);
  }
  ::close(ends[0]);  // the write end stays open as long as we live
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  owner = ::getpid();
  return WIFEXITED(status);
}

}  // namespace ocrtune
