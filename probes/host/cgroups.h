// The control groups that this process sits in, from its own up to the root that it can see.
//
// A limit in any ancestor binds, so readers must look at every level; tools that read the leaf
// alone miss quotas set on a parent. Knows v1, v2 and both at once (hybrid), Docker's v1 mounts
// without a cgroup namespace (the path of /proc/self/cgroup is not below the mount) and namespaces
// (what lies above the visible root stays unknown). Source: cgroups(7), cgroup_namespaces(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "probes/host/notes.h"

namespace ocrtune {

struct CgroupLevel {
  std::string name;    // "/docker/ab12", as people know it; "/" for the visible root
  std::string folder;  // absolute, to be read through the same FileRoot
};

struct CgroupPath {
  int version = 0;                  // 1 or 2
  std::vector<CgroupLevel> levels;  // own group first, visible root last
  bool hidden_above = false;        // the visible root is not the real one
  std::string note;                 // why a level had to be guessed at; empty when exact
};

// The path for one controller ("cpu", "cpuset", "memory"); nothing where no hierarchy has it.
// `process`: "self", or the pid of another one.
std::optional<CgroupPath> cgroup_path(const FileRoot& root, std::string_view controller,
                                      const std::string& process = "self");

// The number that a limit file holds; nothing for an absent or unreadable file and for "max". A
// file that holds neither is named in `notes` (where given): its limit is unknown.
std::optional<double> read_cgroup_number(const FileRoot& root, const std::string& path,
                                         Notes* notes = nullptr);

}  // namespace ocrtune
