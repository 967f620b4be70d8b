// A small process between this one and a child. Whatever descends from the child becomes the
// guard's when it loses its parent, whether it forked twice, took another session or wiped its
// environment; and when this process is gone, by whatever end and at whatever moment, the guard
// kills all of it. It is in force before the child exists, and nobody else's processes can become
// its children.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

namespace ocrtune {

// In the environment of what ocrtune starts, for people who look for it: <mark>.<tree's number>.
inline constexpr const char* kTreeVariable = "OCRTUNE_TREE";

// The mark of this process, unique on this machine: a forked copy has another. For any thread.
std::string process_mark();

// What the guard says once the child has ended. The child stays a zombie until the guard ends, so
// that its pid is nobody else's.
struct GuardedExit {
  int code = 0;
  int signal = 0;
  rusage used = {};
};

// For a forked process, by system calls only: it becomes a guard, never returns and ends once the
// other end of `connection` (SOCK_SEQPACKET) is closed and all that descends from it is dead. Says
// the child's pid there, then a GuardedExit. Returns in the child: the guard's pid; -1: refused.
pid_t become_guard(int connection);

}  // namespace ocrtune
