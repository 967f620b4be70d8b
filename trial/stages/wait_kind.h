// What a thread waits for, by what /proc/<pid>/task/<tid>/{stat,wchan,syscall} say of it. Numbers
// and texts only: nothing is read here.
#pragma once

#include <string_view>

namespace ocrtune {

enum class WaitKind {
  running,   // or waiting for a CPU
  disk,      // of the kernel, uninterruptibly, or for asynchronous reads and writes
  mutex,     // that another thread holds
  futex,     // another futex: a condition, a semaphore, a barrier
  timed,     // the same with a limit on the time
  network,   // a descriptor of whatever kind by poll, or a socket
  sleeping,  // a time
  pipe,      // a pipe or a socket of this machine: another process
  child,     // the end of a child process
  other,
};
inline constexpr int kWaitKinds = static_cast<int>(WaitKind::other) + 1;

// state: the letter in stat. place: the kernel's function in wchan, "" or "0" where it is not
// given. call: the line of syscall, "" where it may not be read. It tells a poll of nothing, which
// is a sleep, and a mutex: glibc, libgomp and Rust wait for one by FUTEX_WAIT while its word is 2;
// glibc's read-write locks while it is 2 or 3.
WaitKind wait_kind(char state, std::string_view place, std::string_view call);

// Whether wait_kind() makes use of `call` here.
bool needs_call(char state, std::string_view place);

}  // namespace ocrtune
