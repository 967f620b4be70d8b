// Files of logs: one is read block by block, and those of a folder are found by their names.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

Result<LogScan> scan_log(const std::string& path) {
  const Descriptor file(path == "-" ? ::dup(STDIN_FILENO)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error(errno, "open " + path);
  constexpr std::pair<std::string_view, std::string_view> kReaders[] = {
      {"\x1f\x8b", "zcat"},     {"\x28\xb5\x2f\xfd", "zstdcat"}, {"BZh", "bzcat"},
      {"\xfd\x37zXZ", "xzcat"}, {"\xff\xfe", "iconv -f UTF-16"}, {"\xfe\xff", "iconv -f UTF-16"}};
  LogScanner scanner(path == "-" ? "standard input" : path);
  std::vector<char> block(64UL * 1024);
  for (bool first = true;;) {
    const ssize_t got = ::read(file.number, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "read " + path);
    if (got == 0) return scanner.finish();
    const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
    for (const auto& [mark, reader] : kReaders) {
      if (!first || !starts_with(bytes, mark)) continue;
      return Error{ErrorKind::invalid,
                   fmt::format("{0} is no plain text: {1} {0} | ocrtune diagnose -", path, reader)};
    }
    first = false;
    scanner.feed(bytes);
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while reading " + path};
  }
}

namespace {

constexpr int kDeepest = 4;
constexpr std::size_t kMost = 2000;

bool is_log_name(const std::string& name) {
  static const re2::RE2 kLog(
      R"((?:workerlog|serverlog)\..*|dmesg.*|stdout|stderr|log|.*\.(?:log|out|err|txt))");
  static const re2::RE2 kOther(R"((?:envlog\.|backup_env).*|.*\.gpu\.log)");
  return re2::RE2::FullMatch(name, kLog) && !re2::RE2::FullMatch(name, kOther);
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
  std::ranges::sort(logs);
  return logs;
}

}  // namespace ocrtune
