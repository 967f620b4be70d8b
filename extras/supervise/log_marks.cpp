// A mark is where a file ended and its last bytes: a file that has grown and still holds these
// bytes at that place was appended to. Then only the rest is scanned, with line numbers of the
// whole.
#include "extras/supervise/log_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/interrupt.h"

namespace ocrtune {
namespace {

constexpr std::size_t kEndBytes = 512;  // that tell an appended log from one written anew
constexpr std::size_t kLogBlock = 64 << 10;

struct OpenLog {
  Descriptor file;
  struct stat facts {};

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(facts.st_size); }
  double seconds() const { return changed_seconds(facts); }
};

std::optional<OpenLog> open_log(const std::string& path) {
  OpenLog log{Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), {}};
  if (!log.file.is_open() || ::fstat(log.file.number, &log.facts) != 0) return std::nullopt;
  if (!S_ISREG(log.facts.st_mode)) return std::nullopt;
  return log;
}

// Each block of the file from one place up to another, or up to its end.
template <typename Take>
void read_blocks(int file, std::uint64_t from, std::uint64_t to, const Take& take) {
  std::string block(kLogBlock, '\0');
  while (from < to && !interrupted()) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, block.size()));
    const ssize_t got = ::pread(file, block.data(), most, static_cast<off_t>(from));
    if (got <= 0) return;
    take(std::string_view(block).substr(0, static_cast<std::size_t>(got)));
    from += static_cast<std::uint64_t>(got);
  }
}

std::string end_before(int file, std::uint64_t bytes) {
  std::string end;
  read_blocks(file, bytes - std::min<std::uint64_t>(bytes, kEndBytes), bytes,
              [&](std::string_view block) { end += block; });
  return end;
}

LogScan scan_behind(const OpenLog& log, const std::string& path, std::uint64_t from) {
  std::int64_t lines = 0;
  read_blocks(log.file.number, 0, from, [&](std::string_view block) {
    lines += std::count(block.begin(), block.end(), '\n');
  });
  LogScanner scanner(path);
  read_blocks(log.file.number, from, log.bytes(),
              [&](std::string_view block) { scanner.feed(block); });
  LogScan scan = scanner.finish();
  scan.lines += lines;
  scan.last_line.number += lines;
  scan.last_progress.number += lines;
  for (Finding& finding : scan.findings) {
    finding.first.number += lines;
    finding.last.number += lines;
  }
  return scan;
}

// Logs as they are, and those in folders.
std::vector<std::string> named_logs(const std::vector<std::string>& paths) {
  std::vector<std::string> logs;
  for (const std::string& path : paths) {
    if (!is_directory(path)) {
      logs.push_back(path);
      continue;
    }
    for (std::string& file : find_logs(path).value_or({})) logs.push_back(std::move(file));
  }
  return logs;
}

}  // namespace

LogMarks::LogMarks(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (const std::string& path : named_logs(paths_)) {
    const auto log = open_log(path);
    if (!log) continue;
    marks_[{log->facts.st_dev, log->facts.st_ino}] = {log->bytes(), log->seconds(),
                                                      end_before(log->file.number, log->bytes())};
  }
}

std::vector<LogScan> LogMarks::scan_added() const {
  std::vector<LogScan> scans;
  std::set<FileIdentity> seen;
  for (const std::string& path : named_logs(paths_)) {
    const auto log = open_log(path);
    if (!log) continue;
    const FileIdentity identity{log->facts.st_dev, log->facts.st_ino};
    // A log and a link to it, or a log and its folder, are one.
    if (!seen.insert(identity).second) continue;
    const auto found = marks_.find(identity);
    const Mark mark = found == marks_.end() ? Mark() : found->second;
    if (found != marks_.end() && log->bytes() == mark.bytes && log->seconds() == mark.seconds) {
      continue;
    }
    // Else it is another log, or the same written anew: all of it counts.
    const bool added = mark.bytes > 0 && log->bytes() > mark.bytes &&
                       end_before(log->file.number, mark.bytes) == mark.end;
    if (added) {
      scans.push_back(scan_behind(*log, path, mark.bytes));
    } else if (auto scan = scan_log(path)) {
      scans.push_back(std::move(*scan));
    }
  }
  return scans;
}

}  // namespace ocrtune
