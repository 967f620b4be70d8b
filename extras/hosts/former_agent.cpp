// A record lock says who the run's agent is. One byte in its file says that this agent is leaving
// already and is not to be asked again. fcntl() and not flock(), since F_GETLK names the holder's
// pid.
#include "extras/hosts/former_agent.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "extras/hosts/agents.h"

namespace ocrtune {
namespace {

constexpr double kKilledSeconds = 5;  // for the kernel to take a killed process away
constexpr double kGuardSeconds = 1;   // for the guards of an agent that has ended to end its job

struct HeldRun {
  std::mutex mutex;
  std::string path;
  int file = -1;  // open until the process ends: to close any descriptor gives the lock up
};

HeldRun& held_run() {
  static HeldRun& one = *new HeldRun;  // the listening thread may end the process at any time
  return one;
}

// Empty: no name for a file.
std::string path_of_run(const std::string& run) {
  const bool named = !run.empty() && run.size() <= 64 && std::ranges::all_of(run, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
  });
  return named ? fmt::format("/tmp/ocrtune-run.{}.{}.{}", ::geteuid(), host_name(), run) : "";
}

int open_run_file(const std::string& path, int more) {
  if (path.empty()) return -1;
  return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | more, 0600);
}

struct flock run_lock() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Its process, 0 where that is of another PID namespace; -1: nobody.
int run_holder(int file) {
  struct flock lock = run_lock();
  if (::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return -1;
  return std::max(lock.l_pid, 0);
}

bool is_free_within(int file, double seconds) {
  const double end = steady_seconds() + seconds;
  while (run_holder(file) >= 0) {
    if (steady_seconds() >= end || interrupted()) return false;
    steady_clock().sleep_seconds(0.05);
  }
  return true;
}

}  // namespace

void hold_run(const std::string& run) {
  HeldRun& held = held_run();
  const std::lock_guard lock(held.mutex);
  const std::string path = path_of_run(run);
  if (held.path == path) return;
  const int file = open_run_file(path, O_CREAT);
  struct flock wanted = run_lock();
  if (file < 0 || ::fcntl(file, F_SETLK, &wanted) != 0) {
    if (file >= 0) ::close(file);
    return;
  }
  // The lock on the earlier run goes with its descriptor.
  if (held.file >= 0) ::close(held.file);
  held.path = path;
  held.file = file;
  [[maybe_unused]] const int emptied = ::ftruncate(file, 0);  // of one that left
}

void tell_leaving() {
  HeldRun& held = held_run();
  const std::lock_guard lock(held.mutex);
  if (held.file < 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(held.file, "l", 1, 0);
}

void release_run() {
  HeldRun& held = held_run();
  const std::lock_guard lock(held.mutex);
  if (held.file >= 0) ::unlink(held.path.c_str());
}

Status end_former_agent(const std::string& run, double grace_seconds) {
  const std::string path = path_of_run(run);
  {
    HeldRun& held = held_run();
    const std::lock_guard lock(held.mutex);
    if (held.file >= 0 && held.path == path) return Status();
  }
  const Descriptor file(open_run_file(path, 0));
  if (!file.is_open()) return Status();
  // Without O_CREAT above: where no agent was, no file is left.
  const int former = run_holder(file.number);
  if (former < 0) return Status();
  struct stat facts {};
  const bool leaving = ::fstat(file.number, &facts) == 0 && facts.st_size > 0;
  if (former > 0 && !leaving) ::kill(former, SIGTERM);  // a second one ends it at once
  bool ended = is_free_within(file.number, agent_leave_seconds(grace_seconds) + 1);
  if (!ended && !interrupted()) {
    // Asked anew: the pid may have been given to another process meanwhile.
    if (run_holder(file.number) == former && former > 0) ::kill(former, SIGKILL);
    ended = is_free_within(file.number, kKilledSeconds);
  }
  if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
  if (!ended) {
    return Error{ErrorKind::failed,
                 fmt::format("the agent that was there before (process {}) does not end", former)};
  }
  ::unlink(path.c_str());  // one that was killed has left it
  // Its job ends by guards of its own, a little after it.
  steady_clock().sleep_seconds(kGuardSeconds);
  return Status();
}

}  // namespace ocrtune
