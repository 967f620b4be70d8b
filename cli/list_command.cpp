// ocrtune list: every table of the program by name, for people and (--json) for machines.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "bench/command_preset.h"
#include "bench/knobs.h"
#include "bench/log_reader.h"
#include "cli/command_list.h"
#include "cli/terminal.h"
#include "core/backend_table.h"
#include "core/model.h"
#include "probes/causes.h"
#include "probes/signatures.h"
#include "reports/table.h"
#include "tuner/search.h"
#include "tuner/store.h"

namespace ocrtune {
namespace {

struct ListFlags {
  std::string topic, database;
  bool json = false;
};

Result<Table> commands(const ListFlags& /*flags*/) {
  Table table({"command", "help"});
  for (const Command& command : command_table()) {
    table.add_row({std::string(command.name), std::string(command.help)});
  }
  return table;
}

Result<Table> knobs(const ListFlags& /*flags*/) {
  static const Knobs kDefaults;
  Table table({"knob", "default", "values", "help"});
  for (const KnobRow& row : knob_table()) {
    const std::string values =
        row.scale == KnobScale::count ? std::to_string(row.least) + ".." : row.choices;
    table.add_row(
        {std::string(row.name), knob_text(kDefaults, row.name), values, std::string(row.help)});
  }
  return table;
}

Result<Table> models(const ListFlags& /*flags*/) {
  Table table({"model", "height", "width", "help"});
  for (const ModelRow& row : model_table()) {
    table.add_row({std::string(row.name), std::int64_t{row.height}, std::int64_t{row.width},
                   std::string(row.help)});
  }
  return table;
}

Result<Table> backends(const ListFlags& /*flags*/) {
  Table table({"backend", "help"});
  for (const BackendRow& row : backend_table()) {
    table.add_row({std::string(row.name), std::string(row.help)});
  }
  return table;
}

Result<Table> strategies(const ListFlags& /*flags*/) {
  Table table({"strategy", "help"});
  for (const StrategyRow& row : strategy_table()) {
    table.add_row({std::string(row.name), std::string(row.help)});
  }
  return table;
}

Result<Table> log_readers(const ListFlags& /*flags*/) {
  Table table({"log_reader", "numbers_of", "help", "example"});
  for (const LogReaderRow& row : log_reader_table()) {
    table.add_row({std::string(row.name), std::string(row.per_rank ? "one rank" : "the job"),
                   std::string(row.help), std::string(row.example)});
  }
  return table;
}

Result<Table> presets(const ListFlags& /*flags*/) {
  Table table({"preset", "help"});
  for (const PresetRow& row : preset_table()) {
    table.add_row({std::string(row.name), std::string(row.help)});
  }
  return table;
}

Result<Table> causes(const ListFlags& /*flags*/) {
  Table table({"cause", "outcome", "meaning"});
  for (const CauseRow& row : cause_table()) {
    table.add_row({std::string(row.name), std::string(row.outcome), std::string(row.meaning)});
  }
  return table;
}

Result<Table> signatures(const ListFlags& /*flags*/) {
  Table table({"signature", "cause", "role", "weight", "pattern"});
  for (const SignatureRow& row : signature_table()) {
    table.add_row({std::string(row.id), std::string(row.cause), std::string(role_name(row.role)),
                   row.weight, std::string(row.pattern)});
  }
  return table;
}

Result<Table> outcomes(const ListFlags& /*flags*/) {
  Table table({"outcome", "meaning"});
  constexpr const char* kMeanings[] = {"ran and was measured",
                                       "passed a memory limit, or was predicted to",
                                       "made no progress for far longer than a step",
                                       "did not end in the time of a trial",
                                       "a process of it died",
                                       "its result check against the reference failed",
                                       "this machine or build cannot run it",
                                       "was not launched"};
  int number = 0;
  for (const char* meaning : kMeanings) {
    table.add_row(
        {std::string(outcome_name(static_cast<Outcome>(number++))), std::string(meaning)});
  }
  return table;
}

Result<Table> runs(const ListFlags& flags) {
  const auto store = Store::open(flags.database.empty() ? Store::default_path() : flags.database,
                                 Store::Mode::read);
  if (!store) return store.error();
  const auto listings = (*store)->list_runs();
  if (!listings) return listings.error();
  Table table({"run", "started", "state", "trials", "host", "command"});
  for (const RunListing& run : *listings) {
    table.add_row(
        {run.id, run.started, run.state, std::int64_t{run.trials}, run.host, run.command_line});
  }
  return table;
}

struct Topic {
  const char *name, *help;
  Result<Table> (*make)(const ListFlags& flags);
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> kTable = {
      {"backends", "who computes the operators", backends},
      {"causes", "why runs fail, as diagnose names it", causes},
      {"commands", "what ocrtune can do", commands},
      {"knobs", "the settings that ocrtune turns", knobs},
      {"log-readers", "the dialects in which commands print their speed", log_readers},
      {"models", "the networks of the built-in core", models},
      {"outcomes", "how a trial can end", outcomes},
      {"presets", "the programs whose flags ocrtune knows", presets},
      {"runs", "the runs in the store, newest first", runs},
      {"signatures", "the log lines by which failures are known", signatures},
      {"strategies", "the search strategies", strategies},
  };
  return kTable;
}

Table topic_table() {
  Table table({"topic", "help"});
  for (const Topic& topic : topics()) {
    table.add_row({std::string(topic.name), std::string(topic.help)});
  }
  return table;
}

Result<int> list(const ListFlags& flags) {
  Result<Table> table = topic_table();
  if (!flags.topic.empty()) {
    std::vector<std::string> names;
    const Topic* found = nullptr;
    for (const Topic& topic : topics()) {
      names.emplace_back(topic.name);
      if (flags.topic == topic.name) found = &topic;
    }
    if (found == nullptr) {
      const std::string near = nearest_name(flags.topic, names);
      return Error{ErrorKind::usage, "no list of '" + flags.topic + "'; " +
                                         (near.empty() ? "there are " + join(names, ", ")
                                                       : "did you mean '" + near + "'?")};
    }
    table = found->make(flags);
  }
  if (!table) return table.error();
  // Whole lines into a pipe; cut ones only where they would wrap.
  const int width = is_terminal(stdout) ? terminal_width(stdout) : 100000;
  const std::string text = flags.json ? table_json(*table) + "\n" : console_table(*table, width);
  std::fputs(text.c_str(), stdout);
  return kExitFine;
}

}  // namespace

Command list_command() {
  return {"list", "print a table of the program: knobs, models, commands, runs, ...",
          "ocrtune list knobs", [](CLI::App& app) {
            auto flags = std::make_shared<ListFlags>();
            app.add_option("topic", flags->topic, "What to list; the topics if left out");
            app.add_flag("--json", flags->json, "An array of objects");
            app.add_option("--db", flags->database, "The store, for 'runs'");
            return [flags] { return list(*flags); };
          }};
}

}  // namespace ocrtune
