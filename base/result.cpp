// Which errno is which kind. Callers decide by the kind, so a number that no caller treats apart
// stays `failed`.
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace ocrtune {

Error system_error(int code, const std::string& action) {
  ErrorKind kind = ErrorKind::failed;
  switch (code) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      kind = ErrorKind::missing;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      kind = ErrorKind::denied;
      break;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT:
    // Of fork and of thread creation: the limit on processes is reached (RLIMIT_NPROC, pids.max).
    case EAGAIN:
      kind = ErrorKind::exhausted;
      break;
    case ENOSYS:
    case EOPNOTSUPP:
      kind = ErrorKind::unsupported;
      break;
    default:
      break;
  }
  return Error{kind, action + ": " + std::strerror(code)};
}

}  // namespace ocrtune
