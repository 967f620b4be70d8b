// The longest mount point that a path begins with is its file system, as for the kernel. Mount
// points within this process's own namespace are known alone.
#include "trial/proc/tmpfs_mounts.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {
namespace {

// "\040" is a blank: what would part the fields is written in octal.
std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t at = 0; at < field.size(); ++at) {
    const bool octal = field[at] == '\\' && at + 3 < field.size() &&
                       std::all_of(field.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                   field.begin() + static_cast<std::ptrdiff_t>(at) + 4,
                                   [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      text += field[at];
      continue;
    }
    text += static_cast<char>((field[at + 1] - '0') * 64 + (field[at + 2] - '0') * 8 +
                              (field[at + 3] - '0'));
    at += 3;
  }
  return text;
}

}  // namespace

// "36 35 98:0 /root /mount/point rw,noatime master:1 - tmpfs tmpfs rw"
TmpfsPaths::TmpfsPaths(std::string_view mountinfo) {
  for (const std::string& line : split(mountinfo, '\n')) {
    // Optional fields stand before the dash, so the type is counted from there.
    const std::size_t dash = line.find(" - ");
    const auto fields = words(std::string_view(line).substr(0, dash));
    if (dash == std::string::npos || fields.size() < 5) continue;
    const auto type = words(std::string_view(line).substr(dash + 3));
    if (type.empty()) continue;
    mounts_.push_back({unescaped(fields[4]), type[0] == "tmpfs" || type[0] == "ramfs"});
  }
  // Of two at one point the later hides the earlier.
  std::reverse(mounts_.begin(), mounts_.end());
  std::stable_sort(mounts_.begin(), mounts_.end(),
                   [](const Mount& a, const Mount& b) { return a.point.size() > b.point.size(); });
}

bool TmpfsPaths::contain(std::string_view path) const {
  for (const Mount& mount : mounts_) {
    const std::string_view point = mount.point;
    const bool below = starts_with(path, point) &&
                       // "/dev/shm2" does not lie in "/dev/shm".
                       (point == "/" || path.size() == point.size() || path[point.size()] == '/');
    if (below) return mount.in_memory;
  }
  return false;
}

}  // namespace ocrtune
