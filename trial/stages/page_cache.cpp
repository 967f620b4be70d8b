#include "trial/stages/page_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxDropped = 1 << 18;

std::uint64_t drop(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return 0;
  struct stat facts {};
  const bool dropped = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                       ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(file);
  return dropped ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

// ".jpg"; empty: the name has none.
std::string_view ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot);
}

}  // namespace

std::uint64_t drop_from_memory(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  std::set<std::string> dropped;
  std::set<std::pair<std::string, std::string>> folders;  // with an ending
  const auto drop_once = [&](const std::string& path) {
    if (dropped.size() < kMaxDropped && dropped.insert(path).second) bytes += drop(path);
  };
  for (const std::string& path : files) {
    drop_once(path);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string folder = path.substr(0, slash), name = path.substr(slash + 1);
    if (ending(name).empty() || !folders.emplace(folder, ending(name)).second) continue;
    const auto beside = list_directory(folder);
    for (const std::string& other : beside ? *beside : std::vector<std::string>()) {
      if (ends_with(other, std::string(ending(name)))) drop_once(folder + "/" + other);
    }
  }
  return bytes;
}

}  // namespace ocrtune
