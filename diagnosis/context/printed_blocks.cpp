// What is held has a bound: a log may print such blocks without end.
#include "diagnosis/context/printed_blocks.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/context/line_origin.h"

namespace ocrtune {
namespace {

// Guesses above what such programs print.
constexpr int kReportLines = 16;
constexpr std::size_t kMaxReports = 64;

bool has_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return line.find(word) != line.npos; });
}

bool opens_report(std::string_view line) {
  return has_any(line, {"Root Cause (first observed failure)", "The first process to do so was",
                        "srun: error: ", "noticed that process rank"}) ||
         ends_with(trim(line), "Root Cause:");
}

}  // namespace

bool LauncherReport::begins(std::string_view line) {
  return has_any(line, {"(pid", " pid=", "' pid:", "[launch.py:"}) || opens_report(line);
}

// A pool of Python's tells the end of a child by name and pid, gunicorn by its pid; DeepSpeed
// starts children by a command, whose end it tells of the last one alone; workers name themselves.
bool LauncherReport::take_child(std::string_view line) {
  static const re2::RE2 kPool(R"(Process '([^']+)' pid:(\d+) exited with 'signal (\d+))");
  static const re2::RE2 kWorker(R"(Worker \(pid:(\d+)\) was sent SIG(KILL|SEGV|ABRT|BUS))");
  static const re2::RE2 kSpawned(
      R"(process (\d+) spawned with command: .*--local[_-]rank[=', ]+(\d+))");
  static const re2::RE2 kNamed(R"(([A-Za-z][\w-]*\d) \(pid[ =:]+(\d+)\)|^\((?:(\w+) )?pid=(\d+))");
  FirstFailure ended;
  Child child;
  std::int64_t code = 0;
  std::string signal, ray_name, ray_pid;
  if (re2::RE2::PartialMatch(line, kPool, &child.name, &child.pid, &code)) {
    ended.exit_code = -code;
    ended.name = child.name + " (pid " + child.pid + ")";
  } else if (re2::RE2::PartialMatch(line, kWorker, &child.pid, &signal)) {
    ended.exit_code = signal == "KILL" ? -9 : signal == "SEGV" ? -11 : signal == "ABRT" ? -6 : -7;
    ended.name = "worker (pid " + child.pid + ")";
  } else if (re2::RE2::PartialMatch(line, kSpawned, &child.pid, &child.rank) ||
             re2::RE2::PartialMatch(line, kNamed, &child.name, &child.pid, &ray_name, &ray_pid)) {
    if (child.pid.empty() && child.rank < 0) {
      child = {ray_pid, -1, ray_name.empty() ? "process" : ray_name};
    }
    const bool known = std::ranges::find(children_, child.pid, &Child::pid) != children_.end();
    if (!known && children_.size() < kMaxReports) children_.push_back(child);
    return true;
  }
  ended.when = parse_log_time(line);
  if (ended.exit_code && failures_.size() < kMaxReports) failures_.push_back(ended);
  return ended.exit_code.has_value();
}

void LauncherReport::take_line(std::string_view line) {
  // Of srun's lines the first is of the task that ended first.
  static const re2::RE2 kTask(
      R"((?:srun: error: \S+: tasks? |that process rank )(\d+).*[ (](Killed|Memory|Segm|Abort|Bus|Illegal|Floating|code \d+))");
  FirstFailure task;
  std::string end;
  if (re2::RE2::PartialMatch(line, kTask, &task.rank, &end)) {
    constexpr std::pair<std::string_view, int> kEnds[] = {
        {"Killed", -9}, {"Memory", -9},  {"Segm", -11},   {"Abort", -6},
        {"Bus", -7},    {"Illegal", -4}, {"Floating", -8}};
    const auto known = std::ranges::find(kEnds, end, &std::pair<std::string_view, int>::first);
    task.exit_code =
        known == std::end(kEnds) ? parse_integer(end.substr(5)).value_or(1) : known->second;
    if (failures_.empty()) failures_.push_back(task);
    return;
  }
  if (take_child(line)) return;
  if (opens_report(line)) {
    now_ = FirstFailure();
    lines_left_ = kReportLines;
    return;
  }
  if (!open()) return;
  lines_left_ -= 1;
  static const re2::RE2 kTime(R"((?:^| )time *: *(.+))");
  static const re2::RE2 kRank(
      R"((?:^| )rank *: *(-?\d+)|Process name *: .*,(\d+)\])");  // job, rank
  static const re2::RE2 kExitCode(R"((?:^| )(?:exitcode|Exit code) *: *(-?\d+))");
  re2::StringPiece time, rank, of_mpi;
  std::int64_t code = 0;
  if (re2::RE2::PartialMatch(line, kTime, &time)) {
    now_.when = parse_log_time({time.data(), time.size()});
  } else if (re2::RE2::PartialMatch(line, kRank, &rank, &of_mpi)) {
    const auto number_of = parse_integer(std::string(rank.empty() ? of_mpi : rank));
    now_.rank = static_cast<int>(number_of.value_or(-1));
  } else if (re2::RE2::PartialMatch(line, kExitCode, &code)) {
    now_.exit_code = code;
  }
  if (now_.rank < 0 || !now_.exit_code || failures_.size() == kMaxReports) return;
  failures_.push_back(now_);
  lines_left_ = 0;
}

}  // namespace ocrtune
