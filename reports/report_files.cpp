// CSV files come first, then the page and ocrtune.env, which only a run with an answer has.
#include "reports/report_files.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "reports/export/env_file.h"
#include "reports/export/run_tables.h"
#include "reports/html/page.h"

namespace ocrtune {
namespace {

using NamedText = std::pair<std::string, std::string>;

Status write_all(const std::string& directory, const std::vector<NamedText>& files) {
  for (const auto& [name, text] : files) {
    const Status written = write_file(join_path(directory, name), text);
    if (!written) return written;
  }
  return Status();
}

}  // namespace

Status write_csv_files(const RunRecord& run, const std::string& directory) {
  OCRTUNE_TRY(make_folder(directory));
  return write_all(directory, {{"trials.csv", csv_text(trials_table(run))},
                               {"summary.csv", csv_text(summary_table(run))},
                               {"probe.csv", csv_text(probe_table(run.machine))},
                               {"failures.csv", csv_text(failures_table(run))}});
}

Status write_reports(const RunRecord& run, const std::string& directory) {
  const Status tables = write_csv_files(run, directory);
  if (!tables) return tables;
  std::vector<NamedText> files = {{"report.html", page_html(run)}};
  if (run.result.found) files.emplace_back("ocrtune.env", env_file_text(run.result));
  return write_all(directory, files);
}

}  // namespace ocrtune
