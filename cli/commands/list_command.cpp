// ocrtune list: every table of the program by name, for people and (--json) for machines.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/list_topics.h"
#include "cli/shell/terminal.h"
#include "reports/markup/table.h"

namespace ocrtune {
namespace {

struct ListFlags {
  std::string topic, database;
  bool json = false;
};

Table topic_table() {
  Table table({"topic", "help"});
  for (const Topic& topic : list_topics()) {
    table.add_row({std::string(topic.name), std::string(topic.help)});
  }
  return table;
}

Result<int> list_topic(const ListFlags& flags) {
  Result<Table> table = topic_table();
  if (!flags.topic.empty() && flags.topic != "topics") {
    std::vector<std::string> names;
    const Topic* found = nullptr;
    for (const Topic& topic : list_topics()) {
      names.emplace_back(topic.name);
      if (flags.topic == topic.name) found = &topic;
    }
    if (found == nullptr) {
      const std::string near = nearest_name(flags.topic, names);
      return Error{ErrorKind::usage, "no list of '" + flags.topic + "'; " +
                                         (near.empty() ? "there are " + join(names, ", ")
                                                       : "did you mean '" + near + "'?")};
    }
    table = found->make(flags.database);
  }
  if (!table) return table.error();
  // Whole lines into a pipe; cut ones only where they would wrap.
  const int width = console_width(stdout);
  const std::string text = flags.json ? table_json(*table) + "\n" : console_table(*table, width);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

struct RunsFlags {
  std::vector<std::string> words;
  std::string database, html;
  bool json = false;
};

// `runs` has no code of its own: its words are handed to list, rm and report.
Result<int> runs(const RunsFlags& flags) {
  std::vector<std::string> rest;
  if (!flags.database.empty()) rest = {"--db", flags.database};
  const std::string what = flags.words.empty() ? "" : flags.words[0];
  const bool compares = what == "compare" || what == "diff";
  const bool lists = what.empty();
  if ((lists || what == "rm") && !flags.html.empty()) {
    return Error{ErrorKind::usage,
                 "--html is of ocrtune runs compare A B; ocrtune report --all --html FILE writes a "
                 "page of all runs"};
  }
  if ((compares || what == "rm") && flags.json) {
    return Error{ErrorKind::usage,
                 "--json is of the list of runs; ocrtune show RUN --json prints one of them"};
  }
  if (lists) {
    if (flags.json) rest.emplace_back("--json");
    rest.emplace_back("runs");
    return run_command("list", rest);
  }
  rest.insert(rest.end(), flags.words.begin() + 1, flags.words.end());
  if (what == "rm") return run_command("rm", rest);
  if (compares) {
    if (flags.words.size() != 3) {
      return Error{ErrorKind::usage, "name two runs: ocrtune runs compare A B"};
    }
    if (!flags.html.empty()) rest.insert(rest.end(), {"--html", flags.html});
    return run_command("report", rest);
  }
  return Error{ErrorKind::usage,
               "'" + what + "': there are ocrtune runs, runs compare A B and runs rm RUN..."};
}

}  // namespace

CommandRun declare_runs(Flags& cli) {
  auto flags = std::make_shared<RunsFlags>();
  cli.argument("words", flags->words, "Nothing: list all; compare A B: their difference; rm RUN...")
      .from_list("runs")
      .verb_of({"compare", "rm"});
  cli.option("--html", flags->html, "FILE", "Write the comparison as a page to this file").file();
  cli.json(flags->json);
  cli.store(flags->database);
  return [flags] { return runs(*flags); };
}

CommandRun declare_list(Flags& cli) {
  auto flags = std::make_shared<ListFlags>();
  cli.argument("topic", flags->topic, "What to list; all topics if left out").from_list("topics");
  cli.json(flags->json);
  cli.store(flags->database);
  return [flags] { return list_topic(*flags); };
}

}  // namespace ocrtune
