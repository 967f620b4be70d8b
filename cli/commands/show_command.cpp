// ocrtune show: the answer of a stored run.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/command_list.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/terminal.h"
#include "reports/console/console.h"
#include "reports/export/run_json.h"

namespace ocrtune {
namespace {

struct ShowFlags {
  std::string run = "last";
  std::string database;
  bool json = false;
};

Result<int> show(const ShowFlags& flags) {
  const auto run = judged_run(flags.database, flags.run);
  if (!run) return run.error();
  const std::string text = flags.json
                               ? run_json(*run) + "\n"
                               : console_summary(*run, console_width(stdout), may_colour(stdout));
  std::fputs(text.c_str(), stdout);
  return run->result.found ? kExitOk : kExitNegative;
}

}  // namespace

Command show_command() {
  return {"show", "print the recommendation of a stored run", "ocrtune show last --json",
          [](CLI::App& app) {
            auto flags = std::make_shared<ShowFlags>();
            app.add_option("run", flags->run,
                           "Id of the run or its beginning; the last run if left out");
            app.add_flag("--json", flags->json, "One JSON document (docs/schema.md)");
            app.add_option("--db", flags->database, "The store, if not the default one");
            return [flags] { return show(*flags); };
          }};
}

}  // namespace ocrtune
