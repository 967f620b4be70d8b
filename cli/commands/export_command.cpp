// ocrtune export: a stored run's recommendation as a file that starts it.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/terminal.h"
#include "reports/export/deployment.h"

namespace ocrtune {
namespace {

struct ExportFlags {
  std::string run = "last";
  std::string format, out = "-", plan, database;
};

Result<const ExportFormat*> format_named(const std::string& name) {
  if (const ExportFormat* format = find_export_format(name)) return format;
  std::vector<std::string> names;
  for (const ExportFormat& format : export_formats()) names.emplace_back(format.name);
  const std::string near = nearest_name(lower(name), names);
  return Error{ErrorKind::usage, "--format '" + name + "': " +
                                     (near.empty() ? "needs one of " + join(names, ", ")
                                                   : "did you mean " + near + "?")};
}

Result<int> export_run(const ExportFlags& flags) {
  const ExportFormat* const format = OCRTUNE_TRY(format_named(flags.format));
  const auto run = OCRTUNE_TRY(judged_run(flags.database, flags.run));
  auto deployment = OCRTUNE_TRY(deployment_of(run));
  if (!flags.plan.empty()) {
    const std::string plan = OCRTUNE_TRY(read_file(flags.plan));
    OCRTUNE_TRY(take_plan(plan, deployment));
  }
  // Before anything is written: a format that cannot express the deployment leaves no half file.
  if (format->fits != nullptr) OCRTUNE_TRY(format->fits(deployment));
  const std::string text = format->write(deployment);
  if (flags.out != "-") OCRTUNE_TRY(make_output_folder(parent_path(flags.out)));
  OCRTUNE_TRY(write_file(flags.out, text));
  if (run.result.verdict.answer == Answer::inconclusive) {
    std::fputs("ocrtune export: note: the run is not conclusive (ocrtune show)\n", stderr);
  }
  const std::vector<std::string> open = placeholders_of(text);
  if (!open.empty()) {
    say_line(fmt::format("ocrtune export: note: {} to fill in: {}", open.size(), join(open, ", ")));
  }
  return kExitOk;
}

}  // namespace

CommandRun declare_export(Flags& cli) {
  auto flags = std::make_shared<ExportFlags>();
  cli.run(flags->run);
  cli.option("--format", flags->format, "FORMAT", "Write this kind of file")
      .from_list("export-formats")
      .require("say which kind of file, for example: ocrtune export last --format sbatch");
  cli.out(flags->out, "FILE", "Write to this file, or - for standard output").file();
  cli.option("--with", flags->plan, "FILE",
             "Take the number of copies of a server from what plan --json wrote")
      .file();
  cli.store(flags->database);
  return [flags] { return export_run(*flags); };
}

}  // namespace ocrtune
