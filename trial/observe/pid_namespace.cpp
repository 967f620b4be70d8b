// The inode number of the first namespace is fixed in the kernel (include/linux/proc_ns.h:
// 0xEFFFFFFC).
#include "trial/observe/pid_namespace.h"

#include <unistd.h>

#include <array>
#include <string_view>

namespace ocrtune {

bool in_initial_pid_namespace() {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return size > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(size)) == "pid:[4026531836]";
}

}  // namespace ocrtune
