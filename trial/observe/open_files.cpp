#include "trial/observe/open_files.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// "Max open files            1024                 524288               files"
std::optional<std::int64_t> soft_limit(int pid) {
  const auto limits = read_file(fmt::format("/proc/{}/limits", pid), 1 << 14);
  if (!limits) return std::nullopt;
  for (const std::string& line : split(*limits, '\n')) {
    if (!starts_with(line, "Max open files")) continue;
    const auto columns = words(line.substr(14));
    if (columns.empty()) return std::nullopt;
    const auto value = parse_integer(columns[0]);  // or "unlimited"
    return value ? std::optional<std::int64_t>(*value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<OpenFiles> fullest_file_table(const std::vector<ProcessFacts>& members) {
  std::optional<OpenFiles> fullest;
  for (const ProcessFacts& member : members) {
    const auto names = list_directory(fmt::format("/proc/{}/fd", member.pid));
    const auto limit = soft_limit(member.pid);
    if (!names || !limit || *limit <= 0) continue;
    const OpenFiles files{static_cast<std::int64_t>(names->size()), *limit};
    const auto share = [](const OpenFiles& one) {
      return static_cast<double>(one.open) / static_cast<double>(one.limit);
    };
    if (!fullest || share(files) > share(*fullest)) fullest = files;
  }
  return fullest;
}

}  // namespace ocrtune
