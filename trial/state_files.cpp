// Time of change and size tell versions apart; contents are never read, because a state may have
// gigabytes.
#include "trial/state_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace ocrtune {

namespace fs = std::filesystem;

bool has_end(const std::string& name, std::span<const char* const> ends) {
  return std::ranges::any_of(ends, [&](const char* end) {
    return name.size() > std::strlen(end) && ends_with(name, end);
  });
}

bool holds_state(const std::string& name) {
  return has_end(name, kPaddleEnds) || has_end(name, kFolderEnds) || has_end(name, kFileEnds) ||
         has_end(name, kLooseEnds);
}

std::map<std::string, StateFiles::Version> StateFiles::look() const {
  constexpr int kMaxNames = 20'000, kMaxDepth = 2;
  std::map<std::string, Version> found;
  std::error_code code;
  fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, code);
  for (int names = 0; !code && at != fs::end(at) && names < kMaxNames;
       ++names, at.increment(code)) {
    if (at.depth() >= kMaxDepth) at.disable_recursion_pending();
    struct stat facts {};
    if (!holds_state(at->path().filename().string())) continue;
    if (::lstat(at->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    found[at->path().lexically_relative(folder_).string()] = {
        facts.st_mtim.tv_sec * kNanoseconds + facts.st_mtim.tv_nsec,
        static_cast<std::uint64_t>(facts.st_size)};
  }
  return found;
}

std::vector<std::string> StateFiles::replaced() {
  std::vector<std::string> paths;
  auto now = look();
  for (const auto& [path, version] : files_) {
    const auto same = now.find(path);
    if (same == now.end() || same->second != version) paths.push_back(path);
  }
  files_ = std::move(now);
  return paths;
}

}  // namespace ocrtune
