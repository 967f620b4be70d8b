// ocrtune show: the answer of a stored run.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
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
  const auto run = OCRTUNE_TRY(judged_run(flags.database, flags.run));
  const std::string text = flags.json
                               ? run_json(run) + "\n"
                               : console_summary(run, console_width(stdout), may_colour(stdout));
  std::fputs(text.c_str(), stdout);
  return exit_code_of(run);
}

}  // namespace

CommandRun declare_show(Flags& cli) {
  auto flags = std::make_shared<ShowFlags>();
  cli.argument("run", flags->run, "Name or id of the run, or the beginning of its id")
      .from_list("runs");
  cli.json(flags->json);
  cli.store(flags->database);
  return [flags] { return show(*flags); };
}

}  // namespace ocrtune
