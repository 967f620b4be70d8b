// refused_calls ENOSYS|EPERM COMMAND...: runs the command as on a kernel without close_range(2) and
// pidfd_open(2), or under a seccomp profile that refuses what it does not know.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "tests/support/refused_calls.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int error = std::string(argv[1]) == "EPERM" ? EPERM : ENOSYS;
  if (!ocrtune::refuse_calls({SYS_close_range, SYS_pidfd_open, SYS_pidfd_send_signal}, error)) {
    std::perror("seccomp");
    return 77;
  }
  ::execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 127;
}
