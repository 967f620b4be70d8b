#include "base/orphan_guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "base/raw_proc.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBlock = 1 << 16;
constexpr std::size_t kMaxGuarded = 1 << 15;
constexpr std::size_t kMaxMessage = 256;  // processes
constexpr int kEmptyPasses = 5;           // that end the guard

int g_guard = -1;  // our end of the connection; its end of file is our end

// What the guard knows; static, for it may not allocate.
struct Guarded {
  GuardedProcess processes[kMaxGuarded];
  std::size_t count;
  const char* needle;  // "OCRTUNE_TREE=<mark>."
  std::size_t needle_size;
  int self;
  bool grown;  // in this pass
};
Guarded g_guarded;

bool runs_still(const GuardedProcess& process) {
  char block[kStatBytes];
  ProcessStat now;
  return read_process_stat(process.pid, block, now) && now.start_ticks == process.start_ticks &&
         !now.ended();
}

GuardedProcess* find(int pid) {
  GuardedProcess* end = g_guarded.processes + g_guarded.count;
  auto* found = std::find_if(g_guarded.processes, end,
                             [pid](const GuardedProcess& one) { return one.pid == pid; });
  return found == end ? nullptr : found;
}

// True when the environment of `pid` has the needle at the start of a variable.
bool carries_mark(int pid) {
  static char block[kBlock];
  char path[kProcPathBytes];
  proc_path(pid, "environ", path);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::size_t kept = 0;  // the end of the last block, where the needle may begin
  bool found = false;
  while (!found) {
    const ssize_t got = ::read(file, block + kept, kBlock - kept);
    if (got <= 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(got);
    found = ::memmem(block, size, g_guarded.needle, g_guarded.needle_size) != nullptr;
    kept = std::min(g_guarded.needle_size, size);
    std::memmove(block, block + size - kept, kept);
  }
  ::close(file);
  return found;
}

void add(const GuardedProcess& process) {
  auto* end = g_guarded.processes + g_guarded.count;
  g_guarded.grown = true;
  if (GuardedProcess* old = find(process.pid); old != nullptr) {
    *old = process;
    return;
  }
  if (g_guarded.count == kMaxGuarded) {
    end = std::remove_if(g_guarded.processes, end,
                         [](const GuardedProcess& one) { return !runs_still(one); });
    g_guarded.count = static_cast<std::size_t>(end - g_guarded.processes);
    if (g_guarded.count == kMaxGuarded) return;
  }
  g_guarded.processes[g_guarded.count++] = process;
}

// Freezes a process that belongs to the dead, so that it cannot fork past us, and remembers it.
void look_at(int pid, void*) {
  char block[kStatBytes];
  ProcessStat stat;
  if (pid == g_guarded.self || !read_process_stat(pid, block, stat) || stat.ended()) return;
  const GuardedProcess* told = find(pid);
  if (told == nullptr || told->start_ticks != stat.start_ticks) {
    const GuardedProcess* parent = find(stat.parent);
    if (!(parent != nullptr && runs_still(*parent)) && !carries_mark(pid)) return;
    add({pid, stat.start_ticks});
  }
  signal_exactly(pid, stat.start_ticks, SIGSTOP);
}

// One round: everybody who belongs to the dead is found, then killed. Returns how many.
int kill_guarded() {
  do {
    g_guarded.grown = false;
    for_each_number("/proc", look_at, nullptr);
  } while (g_guarded.grown);
  int killed = 0;
  for (std::size_t i = 0; i < g_guarded.count; ++i) {
    const GuardedProcess& one = g_guarded.processes[i];
    if (runs_still(one) && signal_exactly(one.pid, one.start_ticks, SIGKILL)) ++killed;
  }
  return killed;
}

// Runs in the forked child for good: system calls only.
[[noreturn]] void guard(const std::array<int, 2>& ends, const std::string& needle) {
  ::setsid();
  ::prctl(PR_SET_NAME, "orphan-guard");  // not the name that pkill ends the rest by
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::close(ends[1]);  // ours, first of all: as long as it is open here, no end is ever seen
  ::dup2(ends[0], 3);
  close_from(4);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) ::dup2(nothing, standard);
  if (nothing > 3) ::close(nothing);
  g_guarded = {};
  g_guarded.self = ::getpid();
  g_guarded.needle = needle.data();
  g_guarded.needle_size = needle.size();
  std::array<GuardedProcess, kMaxMessage> told;  // NOLINT: not filled on purpose
  while (true) {
    const ssize_t got = ::recv(3, told.data(), sizeof told, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof told[0]; ++i) add(told[i]);
  }
  // A process that forks while we look is caught by a later round.
  for (int empty = 0; empty < kEmptyPasses;) {
    empty = kill_guarded() == 0 ? empty + 1 : 0;
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
  if (g_guard >= 0) ::close(g_guard);  // a forked copy of us: that guard is the parent's
  g_guard = -1;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const pid_t first = ::fork();
  if (first == 0) {
    if (::fork() == 0) guard(ends, needle);
    ::_exit(0);
  }
  ::close(ends[0]);
  if (first < 0) {
    ::close(ends[1]);
    return false;
  }
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  owner = ::getpid();
  g_guard = ends[1];  // stays open as long as we live
  return WIFEXITED(status);
}

void tell_orphan_guard(const std::vector<GuardedProcess>& processes) {
  for (std::size_t at = 0; g_guard >= 0 && at < processes.size(); at += kMaxMessage) {
    const std::size_t count = std::min(kMaxMessage, processes.size() - at);
    // Refused when the guard is behind or dead: the mark remains.
    [[maybe_unused]] const ssize_t sent =
        ::send(g_guard, processes.data() + at, count * sizeof(GuardedProcess),
               MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

}  // namespace ocrtune
