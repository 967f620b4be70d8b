#include "trial/observe/shm_leftovers.h"

#include <unistd.h>

#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::set<std::string> names_in(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names) return {};
  return {names->begin(), names->end()};
}

// Names below `folder` that the process has mapped or open.
void add_used(int pid, const std::string& folder, std::set<std::string>& used) {
  const std::string mark = folder + "/";
  const auto take = [&](std::string_view path) {
    const std::size_t at = path.find(mark);
    if (at == std::string_view::npos) return;
    std::string_view name = path.substr(at + mark.size());
    if (ends_with(name, " (deleted)")) return;
    used.emplace(name.substr(0, name.find('/')));
  };
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid), 64 << 20);
  if (maps && maps->find(mark) != std::string::npos) {
    for (const std::string& line : split(*maps, '\n')) take(line);
  }
  const std::string descriptors = fmt::format("/proc/{}/fd", pid);
  const auto names = list_directory(descriptors);
  if (!names) return;
  for (const std::string& name : *names) {
    std::array<char, 4096> target{};
    const ssize_t size =
        ::readlink((descriptors + "/" + name).c_str(), target.data(), target.size());
    if (size > 0) take(std::string_view(target.data(), static_cast<std::size_t>(size)));
  }
}

// "torch_4711_2" carries 4711, and so does "sem.4711"; "x47110" does not.
bool carries_pid(const std::string& name, const std::set<int>& pids) {
  for (std::size_t at = 0; at < name.size();) {
    if (std::isdigit(static_cast<unsigned char>(name[at])) == 0) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    const auto number = parse_integer(std::string_view(name).substr(at, end - at));
    if (number && *number > 1 && *number < (1 << 30) &&
        pids.count(static_cast<int>(*number)) != 0) {
      return true;
    }
    at = end;
  }
  return false;
}

}  // namespace

ShmLeftovers::ShmLeftovers(std::string folder)
    : folder_(std::move(folder)), before_(names_in(folder_)) {}

void ShmLeftovers::look(const std::vector<ProcessFacts>& members) {
  for (const ProcessFacts& process : members) add_used(process.pid, folder_, used_);
}

ShmLeftovers::Report ShmLeftovers::remove(const std::set<int>& pids) const {
  Report report;
  std::set<std::string> candidates;
  for (const std::string& name : names_in(folder_)) {
    if (before_.count(name) != 0) continue;
    if (used_.count(name) != 0 || carries_pid(name, pids)) {
      candidates.insert(name);
    } else {
      report.left.push_back(name);
    }
  }
  if (candidates.empty()) return report;
  std::set<std::string> in_use;
  for (const ProcessFacts& process : all_processes()) add_used(process.pid, folder_, in_use);
  for (const std::string& name : candidates) {
    const std::string path = join_path(folder_, name);
    if (in_use.count(name) == 0 && remove_tree(path)) {
      report.removed.push_back(name);
    } else {
      report.left.push_back(name);
    }
  }
  return report;
}

}  // namespace ocrtune
