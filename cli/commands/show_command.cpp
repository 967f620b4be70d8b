// ocrtune show: the answer of a stored run, in a few lines or in full; its page; why not another
// setting.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/terminal.h"
#include "reports/console/answer.h"
#include "reports/console/console.h"
#include "reports/export/run_json.h"

namespace ocrtune {
namespace {

struct ShowFlags {
  std::string run = "last";
  std::string database, html, why;
  bool json = false, all = false;
};

std::vector<std::string> with_store(std::vector<std::string> words, const ShowFlags& flags) {
  if (!flags.database.empty()) words.insert(words.end(), {"--db", flags.database});
  return words;
}

Result<int> show(const ShowFlags& flags) {
  if (!flags.why.empty() && (!flags.html.empty() || flags.all)) {
    return Error{ErrorKind::usage, "--why answers by itself: leave out --html and --all"};
  }
  if (!flags.why.empty()) {
    std::vector<std::string> asked = with_store({"--run", flags.run}, flags);
    if (flags.json) asked.emplace_back("--json");
    for (std::string& word : words(flags.why)) asked.push_back(std::move(word));
    // The older commands do the work: one answer for `show --why` and `why-not`.
    return run_command("why-not", asked);
  }
  if (!flags.html.empty()) {
    if (flags.html == "-" && (flags.json || flags.all)) {
      return Error{
          ErrorKind::usage,
          "--html - takes standard output for the page: give the page a file, or leave out "
          "--json and --all"};
    }
    const auto code = run_command("report", with_store({flags.run, "--html", flags.html}, flags));
    if (!code || *code != kExitOk || !(flags.json || flags.all)) return code;
  }
  const auto run = OCRTUNE_TRY(judged_run(flags.database, flags.run));
  const int width = console_width(stdout);
  const bool colour = may_colour(stdout);
  const Language language = terminal_language();
  const std::string text = flags.json ? run_json(run) + "\n"
                           : flags.all
                               ? console_summary(run, width, colour, language)
                               : console_answer(run, width, colour, language, flags.database);
  std::fputs(text.c_str(), stdout);
  return exit_code_of(run);
}

}  // namespace

CommandRun declare_show(Flags& cli) {
  auto flags = std::make_shared<ShowFlags>();
  cli.run(flags->run);
  cli.toggle("--all", flags->all, "Print everything: rules, similar settings, failures, noise");
  cli.option("--why", flags->why, "SETTING", "Say why this setting was not chosen: 'nproc=8'");
  cli.option("--html", flags->html, "FILE", "Write the page of the run to this file").file();
  cli.json(flags->json);
  cli.store(flags->database);
  return [flags] { return show(*flags); };
}

}  // namespace ocrtune
