// A subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)) that forks the child itself, so that every orphan
// below the child is handed to it by the kernel. The socket to the parent is its only tie: its end
// means that the parent is gone or wants the tree gone.
// After fork from a threaded process only async-signal-safe calls are allowed: no allocation here.
#include "base/orphan_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

#include <fmt/format.h>

#include "base/raw_proc.h"

namespace ocrtune {
namespace {

// The first number behind the standard streams, so that one close_from() closes all the rest.
constexpr int kConnection = 3;
// They double while nothing is reaped: a child stuck in the kernel must not cost a CPU. Guesses.
constexpr long kMinRoundPause = 1'000'000,
               kMaxRoundPause = 500'000'000;  // ns, between two rounds of kills

// SIGCHLD interrupts ppoll, and nothing else.
void wake(int) {}

// The words of the command line too: who kills ocrtune by a word of it (pkill -f) leaves the guard
// to clean up.
void take_own_name() {
  constexpr std::string_view kName = "orphan-guard";
  // proc(5), /proc/<pid>/stat: arg_start is field 48, and its neighbour arg_end is field 49.
  constexpr int kArgumentsBegin = 46;  // blanks before this field of stat, after the name
  // The name is what plain pkill sees. The words of /proc/<pid>/cmdline, which pkill -f sees, lie
  // in the stack and are overwritten there.
  ::prctl(PR_SET_NAME, kName.data());
  char block[kStatBytes];
  const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? 0 : ::read(file, block, sizeof block);
  ::close(file);
  const std::string_view line(block, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::size_t at = line.rfind(')');
  for (int i = 0; i < kArgumentsBegin && at < line.size(); ++i) at = line.find(' ', at + 1);
  if (at >= line.size()) return;
  std::uintptr_t begin = 0, end = 0;
  const char* const last = line.data() + line.size();
  const auto [next, error] = std::from_chars(line.data() + at + 1, last, begin);
  if (error != std::errc() || next == last) return;
  std::from_chars(next + 1, last, end);
  if (begin == 0 || end < begin + kName.size() + 1) return;
  auto* const words = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr)
  std::memset(words, 0, end - begin);
  std::copy(kName.begin(), kName.end(), words);
}

// Everything of this process but the connection goes: others wait for the end of what it has open.
void let_go(int connection) {
  // Signals of the terminal and of a group kill must not reach the guard: it has to clean up after
  // them.
  ::setsid();
  take_own_name();
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // a stopped guard goes on when it is needed
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::dup2(connection, kConnection);
  close_from(kConnection + 1);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2}) ::dup2(nothing, standard);
  if (nothing > kConnection) ::close(nothing);
}

// Reaps orphans until the child has ended, which is told and left as it is. True: it has ended.
bool child_has_ended(pid_t child) {
  while (true) {
    siginfo_t info{};
    GuardedExit exit;
    // WNOWAIT: the child must stay a zombie. An orphan is told apart from it, then reaped.
    const int options = WEXITED | WNOHANG | WNOWAIT;
    // The raw call gives the rusage that libc's waitid() leaves out.
    const long got = ::syscall(SYS_waitid, P_ALL, 0, &info, options, &exit.used);
    if (got != 0 || info.si_pid == 0) return false;
    if (info.si_pid != child) {
      ::waitpid(info.si_pid, nullptr, WNOHANG);
      continue;
    }
    (info.si_code == CLD_EXITED ? exit.code : exit.signal) = info.si_status;
    [[maybe_unused]] const ssize_t sent =
        ::send(kConnection, &exit, sizeof exit, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
  }
}

void wait_for_the_end(pid_t child) {
  // SIGCHLD is open only within ppoll, so that none is lost between the look and the wait.
  sigset_t waiting;
  ::sigprocmask(SIG_SETMASK, nullptr, &waiting);
  ::sigdelset(&waiting, SIGCHLD);
  bool ended = false;
  while (true) {
    if (!ended) ended = child_has_ended(child);
    pollfd connection{kConnection, POLLIN, 0};
    // The parent never writes, so anything on the socket is its end.
    if (::ppoll(&connection, 1, nullptr, &waiting) > 0) return;
  }
}

void kill_if_child(int pid, void* self) {
  char block[kStatBytes];
  ProcessStat stat;
  if (read_process_stat(pid, block, stat) && stat.parent == *static_cast<pid_t*>(self)) {
    ::kill(pid, SIGKILL);  // no other process can have its pid before it is reaped here
  }
}

// Children of those killed come here, until there are none.
void kill_descendants(pid_t child) {
  pid_t self = ::getpid();
  ::kill(child, SIGKILL);
  for (timespec pause{0, kMinRoundPause};;
       pause.tv_nsec = std::min(2 * pause.tv_nsec, kMaxRoundPause)) {
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) pause.tv_nsec = kMinRoundPause;
    if (reaped < 0 && errno == ECHILD) return;
    // Only own children: a grandchild becomes one when its parent dies, and a later round meets it.
    for_each_number("/proc", kill_if_child, &self);
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

std::string process_mark() {
  // The time of the first call and the pid: a pid alone comes again, and a forked copy shares the
  // time.
  static const timespec first = [] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now;
  }();
  return fmt::format("{}-{:x}{:08x}", ::getpid(), first.tv_sec, first.tv_nsec);
}

pid_t become_guard(int connection) {
  const pid_t self = ::getpid();
  // SIGCHLD is blocked before the fork, so that a child that ends at once is not missed.
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  ::signal(SIGCHLD, wake);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return -1;
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) return self;
  let_go(connection);
  // Refused where the parent has died already: then there is nothing to wait for.
  if (::send(kConnection, &child, sizeof child, MSG_NOSIGNAL) == sizeof child) {
    wait_for_the_end(child);
  }
  kill_descendants(child);
  ::_exit(0);
}

}  // namespace ocrtune
