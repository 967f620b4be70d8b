// The group's name is in /proc/<pid>/cgroup, the place of its files in mountinfo; a container may
// see neither, one or a wrong pair. The mount whose folder for the name really exists wins, and
// where none does the mount's own root is read, with a note.
#include "probes/host/cgroups.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace ocrtune {
namespace {

struct Mount {
  std::string root;   // what of the hierarchy is mounted: "/" or "/docker/ab12"
  std::string point;  // where
  bool unified = false;
  std::vector<std::string> controllers;  // v1 only
};

// mountinfo writes blanks in names as octal: "\040".
std::string without_escapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<Mount> cgroup_mounts(const FileRoot& root) {
  std::vector<Mount> mounts;
  const auto text = root.read("/proc/self/mountinfo");
  if (!text) return mounts;
  for (const std::string& line : split(*text, '\n')) {
    const auto fields = words(line);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4) continue;
    const std::string& type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back(Mount{without_escapes(fields[3]), without_escapes(fields[4]),
                           type == "cgroup2", split(dash[3], ',')});
  }
  return mounts;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "/a/b" below "/a" is "/b"; nothing when it is not below.
std::optional<std::string> below(const std::string& path, const std::string& folder) {
  if (folder == "/") return path == "/" ? "" : path;
  if (path == folder) return "";
  if (starts_with(path, folder + "/")) return path.substr(folder.size());
  return std::nullopt;
}

// Of the mounts at one point the last one is seen. Of several points the last one in which `own`
// is: a container may have the host's hierarchy bound in beside its own.
const Mount* find_mount(const FileRoot& root, const std::vector<Mount>& mounts, bool unified,
                        std::string_view name, const std::string& own) {
  const Mount* last = nullptr;
  std::set<std::string> points;
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    const bool holds = mount->unified == unified && (unified || has(mount->controllers, name));
    if (!points.insert(mount->point).second || !holds) continue;
    const auto inside = below(own, mount->root);
    if (inside && root.exists(mount->point + *inside)) return &*mount;
    if (last == nullptr) last = &*mount;
  }
  return last;
}

// cgroups(7): cgroup.events is in every group of v2 but the root, release_agent only in v1's root.
bool is_real_root(const FileRoot& root, const Mount& mount) {
  if (mount.root != "/") return false;
  if (mount.unified) return !root.exists(mount.point + "/cgroup.events");
  return root.exists(mount.point + "/release_agent") ||
         root.exists(mount.point + "/cgroup.sane_behavior");
}

CgroupPath climb(const FileRoot& root, const Mount& mount, const std::string& own) {
  CgroupPath path;
  path.version = mount.unified ? 2 : 1;
  std::optional<std::string> inside = below(own, mount.root);
  // cgroup_namespaces(7): a group above the namespace's root is shown so, and no folder has it.
  if (own.find("/..") != std::string::npos) inside = std::nullopt;
  if (!inside || !root.exists(mount.point + *inside)) {
    path.note = "cgroup " + own + " is not visible under " + mount.point + "; read at the mount";
    inside = "";
  }
  std::string at = *inside;
  while (!at.empty()) {
    path.levels.push_back({(mount.root == "/" ? "" : mount.root) + at, mount.point + at});
    at.resize(at.rfind('/'));
  }
  path.levels.push_back({mount.root, mount.point});
  path.hidden_above = !is_real_root(root, mount);
  return path;
}

}  // namespace

std::optional<CgroupPath> cgroup_path(const FileRoot& root, std::string_view controller,
                                      const std::string& process) {
  const auto text = root.read("/proc/" + process + "/cgroup");
  if (!text) return std::nullopt;
  std::optional<std::string> own_v1;
  std::optional<std::string> own_v2;
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') {
      continue;
    }
    const std::string names = line.substr(first + 1, second - first - 1);
    if (names.empty()) own_v2 = line.substr(second + 1);
    if (has(split(names, ','), controller)) own_v1 = line.substr(second + 1);
  }
  const std::vector<Mount> mounts = cgroup_mounts(root);
  // A controller that v1 has is not in v2's tree (hybrid), so v1 is asked first.
  if (own_v1) {
    const Mount* v1 = find_mount(root, mounts, false, controller, *own_v1);
    if (v1 != nullptr) return climb(root, *v1, *own_v1);
  }
  if (own_v2) {
    const Mount* v2 = find_mount(root, mounts, true, "", *own_v2);
    if (v2 != nullptr) return climb(root, *v2, *own_v2);
  }
  return std::nullopt;
}

std::optional<double> read_cgroup_number(const FileRoot& root, const std::string& path,
                                         Notes* notes) {
  const auto text = root.read(path);
  if (!text || trim(*text) == "max") return std::nullopt;
  const auto number = parse_number(trim(*text));
  if (number) return *number;
  if (notes != nullptr) {
    const std::string shown = valid_utf8(std::string(trim(*text)).substr(0, 40));
    notes->unknowns.push_back(path + " holds no limit: '" + shown + "'");
  }
  return std::nullopt;
}

}  // namespace ocrtune
