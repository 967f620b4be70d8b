// ocrtune diagnose: why a run died, from its logs.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
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
  std::string language = "en";
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
  files.insert(files.end(), flags.kernel_logs.begin(), flags.kernel_logs.end());
  return files;
}

Result<FailureEvidence> evidence_of(const DiagnoseFlags& flags) {
  FailureEvidence evidence;
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

Result<int> run_diagnose(const DiagnoseFlags& flags) {
  const auto evidence = OCRTUNE_TRY(evidence_of(flags));
  const auto files = OCRTUNE_TRY(files_of(flags));
  if (files.empty() && !evidence.exit_code) {
    return Error{ErrorKind::usage, "name a log, a folder of logs, or '-' for standard input"};
  }
  std::vector<LogScan> scans;
  for (const std::string& file : files) {
    auto scan = OCRTUNE_TRY(scan_log(file));
    scans.push_back(std::move(scan));
  }
  const Diagnosis diagnosis = diagnose(scans, evidence);
  const std::string page =
      flags.json ? diagnosis_json(diagnosis, scans) : diagnosis_text(diagnosis, flags.language);
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
      .one_of({"en", "zh"});
  cli.json(flags->json);
  return [flags] { return run_diagnose(*flags); };
}

}  // namespace ocrtune
