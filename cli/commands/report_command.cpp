// ocrtune report: the page and the tables of a stored run, or two runs compared.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/text.h"
#include "base/thread_team.h"
#include "cli/commands.h"
#include "cli/commands/stored_run.h"
#include "cli/engine_commands.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "reports/html/page.h"
#include "reports/html/page_sections.h"
#include "reports/html/run_index.h"
#include "reports/report_files.h"
#include "tuner/session/session.h"
#include "tuner/store/program_versions.h"
#include "tuner/store/store.h"
#include "tuner/verdict/comparison.h"

namespace ocrtune {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string html, csv, database;
  std::string other_database;
  std::string language = "auto";
  std::vector<std::string> with;
  bool all = false;
};

// Where the reader should look is said on stderr: stdout holds answers only.
void say_written(const std::string& path) { say_line("wrote " + path); }

Status write_page(const RunRecord& run, const RunRecord* earlier, const ReportFlags& flags) {
  OCRTUNE_TRY(make_output_folder(parent_path(flags.html)));
  PageOptions options{flags.language, earlier, {}};
  for (const std::string& path : flags.with) {
    const auto text = OCRTUNE_TRY(read_file(path));
    const Status added = add_document(text, options.documents);
    if (!added) return Error{added.error().kind, path + ": " + added.error().what};
  }
  const Status written = write_file(flags.html, page_html(run, options));
  if (written && flags.html != "-") say_written(flags.html);
  return written;
}

Status write_tables(const RunRecord& run, const std::string& folder) {
  OCRTUNE_TRY(make_output_folder(folder));
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
  const auto run = OCRTUNE_TRY(judged_run(
      compares && !flags.other_database.empty() ? flags.other_database : flags.database, id));
  std::optional<RunRecord> earlier;
  if (compares) {
    earlier = OCRTUNE_TRY(judged_run(flags.database, flags.runs[0]));
    OCRTUNE_TRY(comparable(*earlier, run));
    const std::string text = comparison_text(compare_runs(*earlier, run));
    if (flags.html != "-") std::fputs(text.c_str(), stdout);
  }
  if (!flags.with.empty() && flags.html.empty()) {
    return Error{ErrorKind::usage, "--with adds to the page; say where it goes with --html"};
  }
  Status written;
  if (!flags.html.empty()) written = write_page(run, earlier ? &*earlier : nullptr, flags);
  if (written && !flags.csv.empty()) written = write_tables(run, flags.csv);
  if (flags.html.empty() && flags.csv.empty() && !compares) written = write_folder(run);
  if (!written) return written.error();
  return kExitOk;
}

// What a run's page is made of: one that was made of the same is right as it stands.
std::string page_key(const RunListing& run, const std::string& language) {
  return join({program_version(), language, run.name, run.state, std::to_string(run.trials)}, "\n");
}

// Of one run, whose page is written to `folder` unless it is there and right.
Result<IndexRow> row_with_page(const Store& store, const RunListing& listing,
                               const std::string& folder, const std::string& language) {
  const std::string page = join_path(folder, listing.id + ".html");
  // The key and the row stand in the page itself, so the folder needs no index of its own.
  const std::string key = page_key(listing, language);
  if (auto row = row_of_page(read_file(page, kRowBytes).value_or(""), key)) return *std::move(row);
  const auto run = judged_run(store, listing.id);
  if (!run && left_to_engine()) return run.error();
  if (!run) {
    return unreadable_row(listing.id, listing.name, listing.started, listing.command_line,
                          run.error().what);
  }
  IndexRow row = index_row(*run);
  const std::string html = page_html(*run, PageOptions{language, nullptr, {}});
  OCRTUNE_TRY(write_file(page, page_with_row(row, key, html)));
  return row;
}

// One for each thread that reads at once. All are opened before any is read: closing the file that
// open() looks into would take away the lock under which another one reads.
Result<std::vector<std::unique_ptr<Store>>> stores_for(std::size_t runs, const std::string& path) {
  // Guesses: the store that each thread opens must be worth it.
  constexpr std::size_t kMaxThreads = 32, kRunsAThread = 4;
  const auto cpus = static_cast<std::size_t>(std::max(1, current_affinity().count()));
  std::vector<std::unique_ptr<Store>> stores;
  for (const std::size_t count = std::min({cpus, kMaxThreads, 1 + runs / kRunsAThread});
       stores.size() < count;) {
    stores.push_back(OCRTUNE_TRY(Store::open(path, Store::Mode::read)));
  }
  return stores;
}

// The index and, beside it, a page for each run.
Result<int> report_all(const ReportFlags& flags) {
  const std::string index = flags.html.empty() ? "ocrtune-reports/index.html" : flags.html;
  const auto first = OCRTUNE_TRY(Store::open(flags.database, Store::Mode::read));
  const auto listings = OCRTUNE_TRY(first->list_runs());
  const auto stores = OCRTUNE_TRY(stores_for(listings.size(), flags.database));
  OCRTUNE_TRY(make_output_folder(parent_path(index)));
  std::vector<IndexRow> rows(listings.size());
  std::mutex mutex;  // guards what follows
  Progress progress("writing pages", static_cast<std::int64_t>(listings.size()));
  std::size_t next = 0;
  Status status;
  const auto work = [&](std::size_t thread) {
    std::unique_lock lock(mutex);
    while (status && next < listings.size()) {
      const std::size_t at = next++;
      progress.show(static_cast<std::int64_t>(at));
      lock.unlock();
      auto row = row_with_page(*stores[thread], listings[at], parent_path(index), flags.language);
      lock.lock();
      if (!row) status = row.error();
      if (row) rows[at] = *std::move(row);
    }
  };
  // Without threads to spare one after the other.
  if (!run_team(stores.size(), work)) work(0);
  OCRTUNE_TRY(status);
  OCRTUNE_TRY(write_file(index, run_index_html(rows, flags.language)));
  say_written(index);
  return kExitOk;
}

}  // namespace

CommandRun declare_report(Flags& cli) {
  auto flags = std::make_shared<ReportFlags>();
  cli.argument("runs", flags->runs,
               "Name or id of the run, or the beginning of its id (the last if left out); with "
               "two, the second is "
               "compared with the first")
      .from_list("runs");
  cli.option("--run", flags->runs, "RUN", "Name or id of a run").hide();
  cli.toggle("--all", flags->all, "Write an index of all runs, with a page for each beside it");
  cli.option("--html", flags->html, "FILE", "Write the page to this file").file();
  cli.option("--csv", flags->csv, "DIR", "Write trials.csv, summary.csv, ... to this folder")
      .folder();
  cli.option("--language", flags->language, "LANGUAGE", "Show the page in this language first")
      .one_of({"auto", "en", "zh"});
  cli.option("--with", flags->with, "FILE",
             "Show on the page what plan, slo, p2p or probe --hosts printed with --json")
      .file();
  cli.store(flags->database);
  cli.option("--other-db", flags->other_database, "FILE",
             "Read the second run from this store, for runs of two machines")
      .file();
  return [flags]() -> Result<int> {
    if (flags->runs.size() > 2) {
      return Error{ErrorKind::usage, "at most two runs can be compared (ocrtune report --help)"};
    }
    if (!flags->all) return report(*flags);
    if (!flags->runs.empty() || !flags->csv.empty() || !flags->with.empty() || flags->html == "-") {
      return Error{ErrorKind::usage, "--all takes --html FILE, --language and --db alone"};
    }
    return report_all(*flags);
  };
}

}  // namespace ocrtune
