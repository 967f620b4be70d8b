// ocrtune diagnose: why a run died, from its logs.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/shell/terminal.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/log_scan.h"
#include "reports/console/diagnosis_text.h"

namespace ocrtune {
namespace {

struct DiagnoseFlags {
  std::vector<std::string> logs;
  std::optional<std::int64_t> exit_code;
  std::vector<std::string> kernel_logs;
  std::string run_directory;
  std::string language = "auto";
  bool json = false;
};

// The named files; of a folder, the logs in it.
Result<std::vector<std::string>> files_of(const DiagnoseFlags& flags) {
  std::vector<std::string> given = flags.logs;
  if (!flags.run_directory.empty()) given.push_back(flags.run_directory);
  std::vector<std::string> files;
  for (const std::string& path : given) {
    if (!is_directory(path)) {
      files.push_back(path);
      continue;
    }
    auto found = OCRTUNE_TRY(find_logs(path));
    if (found.empty()) {
      return Error{ErrorKind::missing,
                   path + " holds no log (workerlog.*, *.log, *.out, *.err): name the files"};
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<FailureEvidence> evidence_of(const DiagnoseFlags& flags) {
  FailureEvidence evidence;
  // Written by a supervised run; a launcher's folder of logs has none.
  const std::string path = join_path(flags.run_directory, "evidence.json");
  if (!flags.run_directory.empty() && path_exists(path)) {
    const auto text = OCRTUNE_TRY(read_file(path, 1 << 20));
    auto parsed = parse_evidence(text);
    if (!parsed) return Error{parsed.error().kind, path + ": " + parsed.error().what};
    evidence = *parsed;
  }
  if (flags.exit_code) evidence.exit_code = flags.exit_code;
  return evidence;
}

struct Scans {
  std::vector<LogScan> logs;
  std::vector<std::string> notes;  // of files that were not read
};

// One that cannot be read is an error only if no other can.
Result<Scans> scan_all(const std::vector<std::string>& files,
                       const std::vector<std::string>& kernel_logs) {
  Scans scans;
  std::optional<Error> first;
  const auto scan = [&](const std::string& file, bool kernel) {
    auto log = scan_log(file);
    if (!log) {
      scans.notes.push_back(fmt::format("{} was not read: {}", file, log.error().what));
      if (!first || log.error().kind == ErrorKind::interrupted) first = log.error();
      return;
    }
    // The user says that it is a kernel's log where its lines alone do not show it.
    if (kernel && log->kind == SourceKind::program) log->kind = SourceKind::kernel;
    scans.logs.push_back(std::move(*log));
  };
  for (const std::string& file : files) scan(file, false);
  for (const std::string& file : kernel_logs) scan(file, true);
  if (first && (scans.logs.empty() || first->kind == ErrorKind::interrupted)) return *first;
  return scans;
}

Result<int> run_diagnose(const DiagnoseFlags& flags) {
  const auto evidence = OCRTUNE_TRY(evidence_of(flags));
  const auto files = OCRTUNE_TRY(files_of(flags));
  if (files.empty() && flags.kernel_logs.empty() && !evidence.exit_code) {
    return Error{ErrorKind::usage, "name a log, a folder of logs, or '-' for standard input"};
  }
  const Scans scans = OCRTUNE_TRY(scan_all(files, flags.kernel_logs));
  Diagnosis diagnosis = diagnose(scans.logs, evidence);
  diagnosis.notes.insert(diagnosis.notes.begin(), scans.notes.begin(), scans.notes.end());
  const bool chinese = flags.language == "zh" ||
                       (flags.language == "auto" && terminal_language() == Language::chinese);
  const std::string page = flags.json ? diagnosis_json(diagnosis, scans.logs)
                                      : diagnosis_text(diagnosis, chinese ? "zh" : "en");
  std::fputs(page.c_str(), stdout);
  return diagnosis.failed ? kExitNegative : kExitOk;
}

}  // namespace

CommandRun declare_diagnose(Flags& cli) {
  auto flags = std::make_shared<DiagnoseFlags>();
  cli.argument("logs", flags->logs,
               "Logs, or folders of logs, of all ranks of one run; - reads standard input")
      .file();
  cli.option("--exit-code", flags->exit_code, "N",
             "Exit code of the run: 137, -9 and 247 all mean signal 9");
  cli.option("--kernel-log", flags->kernel_logs, "FILE",
             "Read this output of dmesg or journalctl -k of that machine")
      .file();
  cli.option("--run-dir", flags->run_directory, "DIR",
             "Read the folder of a supervised run (ocrtune run) or of a launcher's logs")
      .folder();
  cli.option("--language", flags->language, "LANGUAGE", "Language of the answer")
      .one_of({"auto", "en", "zh"});
  cli.json(flags->json);
  return [flags] { return run_diagnose(*flags); };
}

}  // namespace ocrtune
