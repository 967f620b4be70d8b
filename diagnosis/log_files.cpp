// Which files of a folder are the logs of a run.
#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {
namespace {

constexpr int kDeepest = 4;
constexpr std::size_t kMost = 2000;

bool is_log_name(const std::string& name) {
  if (starts_with(name, "envlog.") || starts_with(name, "backup_env")) return false;
  if (starts_with(name, "workerlog.") || starts_with(name, "serverlog.")) return true;
  if (name == "stdout" || name == "stderr" || name == "log" || starts_with(name, "dmesg")) {
    return true;
  }
  constexpr std::string_view kEnds[] = {".log", ".out", ".err", ".txt"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return ends_with(name, end); }) &&
         !ends_with(name, ".gpu.log");
}

Status collect(const std::string& directory, int depth, std::vector<std::string>& logs) {
  auto names = OCRTUNE_TRY(list_directory(directory));
  for (const std::string& name : names) {
    const std::string path = join_path(directory, name);
    if (is_directory(path)) {
      if (depth < kDeepest && name[0] != '.') {
        const Status status = collect(path, depth + 1, logs);
        if (!status && status.error().kind != ErrorKind::denied) return status;
      }
    } else if (is_log_name(name) && logs.size() < kMost) {
      logs.push_back(path);
    }
  }
  return Status();
}

}  // namespace

Result<std::vector<std::string>> find_logs(const std::string& directory) {
  std::vector<std::string> logs;
  OCRTUNE_TRY(collect(directory, 1, logs));
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace ocrtune
