// ocrtune report: the page and the tables of a stored run, or two runs compared.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "cli/command_list.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/terminal.h"
#include "reports/html/page.h"
#include "reports/html/page_comparison.h"
#include "reports/report_files.h"
#include "tuner/verdict/comparison.h"

namespace ocrtune {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string html, csv, database;
  std::string other_database;
  std::string language = "auto";
  std::vector<std::string> with;
};

// Where the reader should look is said on stderr: stdout holds answers only.
void say_written(const std::string& path) { std::fprintf(stderr, "wrote %s\n", path.c_str()); }

Status write_page(const RunRecord& run, const RunRecord* earlier, const ReportFlags& flags) {
  const std::string folder = parent_path(flags.html);
  const Status made = folder.empty() ? Status() : make_directories(folder);
  if (!made) return made;
  PageOptions options{flags.language, earlier, {}};
  for (const std::string& path : flags.with) {
    const auto text = read_file(path);
    if (!text) return text.error();
    const Status added = add_document(*text, options.documents);
    if (!added) return Error{added.error().kind, path + ": " + added.error().what};
  }
  const Status written = write_file(flags.html, page_html(run, options));
  if (written) say_written(flags.html);
  return written;
}

Status write_tables(const RunRecord& run, const std::string& folder) {
  const Status written = write_csv_files(run, folder);
  if (written) say_written(join_path(folder, "*.csv"));
  return written;
}

// Everything, when neither kind was asked for by itself.
Status write_folder(const RunRecord& run) {
  const std::string folder = "ocrtune-report-" + run.id;
  const Status written = write_reports(run, folder);
  if (written) say_written(join_path(folder, "report.html"));
  return written;
}

Result<int> report(const ReportFlags& flags) {
  const bool compares = flags.runs.size() == 2;
  const std::string id = flags.runs.empty() ? "last" : flags.runs.back();
  const auto run = judged_run(
      compares && !flags.other_database.empty() ? flags.other_database : flags.database, id);
  if (!run) return run.error();
  std::optional<RunRecord> earlier;
  if (compares) {
    auto loaded = judged_run(flags.database, flags.runs[0]);
    if (!loaded) return loaded.error();
    earlier = std::move(*loaded);
    const std::string text = comparison_text(compare_runs(*earlier, *run), terminal_width(stdout));
    std::fputs(text.c_str(), stdout);
  }
  if (!flags.with.empty() && flags.html.empty()) {
    return Error{ErrorKind::usage, "--with adds to the page; say where it goes with --html"};
  }
  Status written;
  if (!flags.html.empty()) written = write_page(*run, earlier ? &*earlier : nullptr, flags);
  if (written && !flags.csv.empty()) written = write_tables(*run, flags.csv);
  if (flags.html.empty() && flags.csv.empty() && !compares) written = write_folder(*run);
  if (!written) return written.error();
  return kExitOk;
}

}  // namespace

Command report_command() {
  return {"report", "write the page and the tables of a stored run, or compare two",
          "ocrtune report last --html report.html --csv tables\n"
          "  ocrtune report last --html report.html --with plan.json --with slo.json\n"
          "  ocrtune report 2026-11-20-0a3f9 2026-11-21-77e01 --html compared.html",
          [](CLI::App& app) {
            auto flags = std::make_shared<ReportFlags>();
            app.add_option("runs", flags->runs,
                           "Id of the run or its beginning (the last if left out); with two, the "
                           "second is compared with the first")
                ->expected(0, 2);
            app.add_option("--html", flags->html, "Where to write the page");
            app.add_option("--csv", flags->csv, "Folder for trials.csv, summary.csv, ...");
            app.add_option("--language", flags->language, "The page's language; it has a switch")
                ->check(CLI::IsMember({"auto", "en", "zh"}));
            app.add_option("--with", flags->with,
                           "What plan, slo or p2p printed with --json, shown on the page")
                ->allow_extra_args(false);
            app.add_option("--db", flags->database, "The store, if not the default one");
            app.add_option("--other-db", flags->other_database,
                           "The store of the second run, for runs of two machines");
            return [flags] { return report(*flags); };
          }};
}

}  // namespace ocrtune
