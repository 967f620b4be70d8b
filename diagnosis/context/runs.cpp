// Patterns of first words, and of the banners that look alike and end something. Only the head of a
// line is looked at.
#include "diagnosis/context/runs.h"

#include <algorithm>

#include <re2/re2.h>

#include "base/text.h"

namespace ocrtune {
namespace {

re2::StringPiece head_of(std::string_view line) {
  constexpr std::size_t kHead = 240;
  return {line.data(), std::min(line.size(), kHead)};
}

// The line without what differs from run to run: numbers, and names of days and months.
std::string shape_of(std::string_view line) {
  static const re2::RE2 kVaries(R"(\d+|\b[A-Z][a-z]{2}\b| {2,})");
  std::string shape(line);
  re2::RE2::GlobalReplace(&shape, kVaries, "#");
  return shape;
}

}  // namespace

bool is_head_again(std::string& head, std::string_view line, std::int64_t lines, bool failed) {
  constexpr std::int64_t kBeginning = 200;
  constexpr std::size_t kShortest = 24, kLongest = 400, kMoreOrLess = 8;
  if (head.empty() && lines < kHeadLines && line.size() >= kShortest && line.size() < kLongest &&
      !starts_with(line, "==> ") && line.find_first_of("0123456789") != line.npos) {
    head = line;
  } else if ((failed || lines < kBeginning) && line[0] == head[0] &&
             line.size() <= head.size() + kMoreOrLess && head.size() <= line.size() + kMoreOrLess &&
             shape_of(line) == shape_of(head)) {
    if (failed) return true;
    head = " ";  // one of many
  }
  return false;
}

bool begins_a_run(std::string_view line) {
  static const re2::RE2 kBegins(
      R"(^\s*[=#*]{3,}\s*\d{4}-\d\d-\d\d[ T]\d\d:\d\d|(?i:^\s*(?:[=#*_~>+-]{2,}|\[[=#*-]+\])[^=#*]*\b(?:(?:run|attempt|job|try|trial|session|launch)\s*(?:id|no\.?|number)?\s*[#:=]?\s*\d+|(?:re-?)?(?:start|launch)(?:ed|ing|s)?(?: (?:by|at|of (?:run|attempt|job)|run|job|attempt|training)\b| *\d|[\s=#*-]*$)|new run\b))|)"
      R"(INFO: train with paddle|Configuration  ------|vLLM API server version|vllm-openai version|Starting gunicorn \d|Started server process \[|(?:^|[\]:] )(?:Starting|Launching|Restarting) (?:(?:new )?(?:training|run|attempt|job|worker group|process group)\b|\S+ --)|Restarting worker group|\[default\] starting workers for entrypoint|Scheduled restart job, restart counter|INFO spawned: '|\bserver_args=ServerArgs\(|celery@\S+ v\d|^Job \d+ (?:started|starting)\b|\b(?i:attempt|try) #?\d+(?: of \d+|/\d+)?:? (?i:start|begin|launch)|开始第 ?\d+ ?次(?:运行|训练)|重新启动训练)");
  static const re2::RE2 kEnds(
      R"((?i)^\s*[=#*_~>+-]{2,}.*\b(?:fail(?:ed|ure)?|finish(?:ed)?|end(?:ed)?|done|complete[d]?|exit(?:ed)?|logs? of|of rank|\S*node-?\w*|host\w*)\b)");
  const re2::StringPiece head = head_of(line);
  // "=== run 2 finished ===" has the form of a beginning too.
  return re2::RE2::PartialMatch(head, kBegins) && !re2::RE2::PartialMatch(head, kEnds);
}

bool is_typed_command(std::string_view line) {
  if (starts_with(line, "$ ") || starts_with(line, "+ ") ||
      line.find(".OOMKilled}}") != line.npos) {
    return true;
  }
  const std::size_t env = starts_with(line, "(") ? line.find(") ") : line.npos;  // "(env) "
  if (env != line.npos) line.remove_prefix(env + 2);
  if (starts_with(line, "[")) {
    const std::size_t end = line.find("]$ ");
    return end != line.npos && line.find('@') < end;
  }
  const std::string_view head = line.substr(0, line.find_first_of(" \t"));
  return head.find(':') != head.npos && (ends_with(head, "$") || ends_with(head, "#"));
}

std::string_view typed_script(std::string_view line) {
  static const re2::RE2 kScript(R"((?:[$#]|^\++) (?:.* )?(?:\S*/)?([\w.-]+\.(?:py|sh))(?: |$))");
  re2::StringPiece script;
  re2::RE2::PartialMatch(head_of(line), kScript, &script);
  return {script.data(), script.size()};
}

std::optional<std::int64_t> step_of(std::string_view line) {
  static const re2::RE2 kStep(
      R"(global_step: ?(\d{1,15})|\b(?:[Ss]tep|[Ii]ter(?:ation)?|[Ee]poch)[ :=\[(]{1,3}(\d{1,15}))");
  re2::StringPiece global, other;
  if (!re2::RE2::PartialMatch(head_of(line), kStep, &global, &other)) return std::nullopt;
  std::int64_t step = 0;
  for (const char c : global.empty() ? other : global) step = step * 10 + (c - '0');
  return step;
}

}  // namespace ocrtune
