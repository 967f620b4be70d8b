// The file systems in memory (tmpfs, ramfs) of this mount namespace: what lies in them is memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

class TmpfsPaths {
 public:
  TmpfsPaths() = default;
  // The text of /proc/<pid>/mountinfo. Source: proc(5).
  explicit TmpfsPaths(std::string_view mountinfo);

  // Whether `path` lies in one of them, and in no other mount below it.
  bool contain(std::string_view path) const;
  bool empty() const { return mounts_.empty(); }

 private:
  struct Mount {
    std::string point;
    bool in_memory = false;
  };
  std::vector<Mount> mounts_;  // longest first
};

}  // namespace ocrtune
