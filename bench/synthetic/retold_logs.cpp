#include "bench/synthetic/retold_logs.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

RetoldLog case_named(const std::string& line) {
  RetoldLog log;
  const std::size_t arrow = line.rfind(" -> ");
  log.name = line.substr(4, arrow - 4);
  std::string causes = line.substr(arrow + 4);
  if (const std::size_t then = causes.find(" then "); then != std::string::npos) {
    log.followers = words(causes.substr(then + 6));
    causes.resize(then);
  }
  log.accepted = split(causes, '|');
  return log;
}

}  // namespace

Result<std::vector<RetoldLog>> read_retold_logs(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path));
  std::vector<RetoldLog> logs;
  for (const std::string& line : split(text, '\n')) {
    if (starts_with(line, "=== ") && line.find(" -> ") != std::string::npos) {
      logs.push_back(case_named(line));
    } else if (logs.empty()) {
      continue;
    } else if (starts_with(line, "--- exit ")) {
      logs.back().evidence.exit_code = parse_integer(line.substr(9)).value_or(1);
    } else if (starts_with(line, "--- who ")) {
      logs.back().who = line.substr(8);
    } else if (starts_with(line, "--- first ")) {
      logs.back().first = line.substr(10);
    } else if (starts_with(line, "--- says ")) {
      logs.back().says = line.substr(9);
    } else if (starts_with(line, "--- ")) {
      logs.back().files.emplace_back(line.substr(4), "");
    } else {
      if (logs.back().files.empty()) logs.back().files.emplace_back("log", "");
      logs.back().files.back().second += line + "\n";
    }
  }
  return logs;
}

Diagnosis diagnose_retold(const RetoldLog& log) {
  std::vector<LogScan> scans;
  for (const auto& [name, text] : log.files) scans.push_back(scan_text(name, text));
  return diagnose(scans, log.evidence);
}

bool shows_why(const RetoldLog& log, const Diagnosis& diagnosis) {
  return log.says.empty() ||
         (diagnosis.failed &&
          std::ranges::any_of(diagnosis.causes[0].evidence, [&](const EvidenceLine& line) {
            return line.text.find(log.says) != std::string::npos;
          }));
}

std::string first_answer(const Diagnosis& diagnosis) {
  if (diagnosis.failed) return diagnosis.causes[0].row->name;
  for (const Cause& cause : diagnosis.causes) {
    if (cause.row->kind == CauseKind::slowness && cause.confidence > 0.3) return cause.row->name;
  }
  return "none";
}

}  // namespace ocrtune
