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
