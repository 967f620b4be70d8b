// Each topic makes a Table of what the program holds already; nothing is kept for printing alone.
#include "cli/list_topics.h"

#include <string>

#include "base/text.h"
#include "cli/engine_commands.h"
#include "cli/shell/progress.h"
#include "core/backends/backend_table.h"
#include "core/models/model.h"
#include "diagnosis/causes.h"
#include "diagnosis/signatures/signatures.h"
#include "reports/catalogue/verdict.h"
#include "reports/export/deployment.h"
#include "trial/knobs.h"
#include "trial/logs/log_reader.h"
#include "trial/workloads/command/command_preset.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/search/search.h"
#include "tuner/session/session.h"
#include "tuner/store/program_versions.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

Result<Table> commands(const std::string& /*database*/) {
  Table table({"command", "help"});
  for (const Command& command : command_table()) {
    if (command.hidden()) continue;
    table.add_row({std::string(command.name), std::string(command.summary)});
  }
  return table;
}

Result<Table> knobs(const std::string& /*database*/) {
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

Result<Table> models(const std::string& /*database*/) {
  Table table({"model", "height", "width", "help"});
  for (const ModelRow& row : model_table()) {
    table.add_row({std::string(row.name), std::int64_t{row.height}, std::int64_t{row.width},
                   std::string(row.help)});
  }
  return table;
}

Result<Table> backends(const std::string& /*database*/) {
  Table table({"backend", "options", "help"});
  for (const BackendRow& row : backend_table()) {
    table.add_row({std::string(row.name), std::string(), std::string(row.help)});
  }
  for (const FrameworkRow& row : framework_table()) {
    table.add_row(
        {std::string(row.backend), join(split(row.options, '|'), " "), std::string(row.help)});
  }
  return table;
}

Result<Table> log_readers(const std::string& /*database*/) {
  Table table({"log_reader", "numbers_of", "help", "example"});
  for (const LogReaderRow& row : log_reader_table()) {
    table.add_row({std::string(row.name), std::string(row.per_rank ? "one rank" : "the job"),
                   std::string(row.help), std::string(row.example)});
  }
  return table;
}

Result<Table> presets(const std::string& /*database*/) {
  const auto rows = OCRTUNE_TRY(preset_table());
  Table table({"preset", "help", "tried", "file"});
  for (const PresetRow& row : rows) table.add_row({row.name, row.help, row.tried, row.file});
  return table;
}

Result<Table> causes(const std::string& /*database*/) {
  Table table({"cause", "outcome", "meaning"});
  for (const CauseRow& row : cause_table()) {
    table.add_row({std::string(row.name), std::string(row.outcome), std::string(row.meaning)});
  }
  return table;
}

Result<Table> signatures(const std::string& /*database*/) {
  Table table({"signature", "cause", "role", "weight", "pattern"});
  for (const SignatureRow& row : signature_table()) {
    table.add_row({std::string(row.id), std::string(row.cause), std::string(role_name(row.role)),
                   row.weight, std::string(row.pattern)});
  }
  return table;
}

Result<Table> outcomes(const std::string& /*database*/) {
  Table table({"outcome", "meaning"});
  // In the order of the enumeration Outcome.
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

Result<Table> formats(const std::string& /*database*/) {
  Table table({"format", "help"});
  for (const ExportFormat& format : export_formats()) {
    table.add_row({std::string(format.name), std::string(format.help)});
  }
  return table;
}

Result<Table> runs(const std::string& database) {
  const auto store = Store::open(database, Store::Mode::read);
  if (!store) return store.error();
  const auto listings = OCRTUNE_TRY((*store)->list_runs());
  Table table({"run", "name", "started", "state", "trials", "verdict", "host", "command"});
  // A run that was stored without its verdict is judged here: about 4 ms of a CPU each.
  Progress progress("judging runs", static_cast<std::int64_t>(listings.size()));
  std::int64_t done = 0;
  for (const RunListing& run : listings) {
    progress.show(done++);
    std::string verdict = run.verdict;
    if (verdict.empty()) {
      // A run that this version cannot judge has no verdict here.
      const auto judged = settled_run(**store, run.id);
      // One run that only the engine's program can judge hands the whole list to it.
      if (!judged && left_to_engine()) return judged.error();
      verdict = judged ? verdict_name(judged->result.verdict) : "unknown";
    }
    table.add_row({run.id, run.name, run.started, run.state, std::int64_t{run.trials}, verdict,
                   run.host, run.command_line});
  }
  return table;
}

Result<Table> versions(const std::string& /*database*/) {
  Table table({"part", "version"});
  for (const auto& [part, version] : program_versions()) table.add_row({part, version});
  return table;
}

Result<Table> features(const std::string& /*database*/) {
  Table table({"feature", "here", "help"});
  for (const Feature& feature : program_features()) {
    table.add_row({std::string(feature.name), std::string(feature.here ? "yes" : "no"),
                   std::string(feature.help)});
  }
  return table;
}

}  // namespace

const std::vector<Topic>& list_topics() {
  static const std::vector<Topic> kTable = {
      {"backends", "who computes the operators", backends},
      {"causes", "why runs fail, as diagnose names it", causes},
      {"commands", "what ocrtune can do", commands},
      {"export-formats", "the files that export writes", formats},
      {"features", "what this build can do", features},
      {"knobs", "the settings that ocrtune turns", knobs},
      {"log-readers", "the dialects in which commands print their speed", log_readers},
      {"models", "the networks of the built-in core", models},
      {"outcomes", "how a trial can end", outcomes},
      {"presets", "the programs whose flags ocrtune knows", presets},
      {"runs", "the runs in the store, newest first", runs},
      {"signatures", "the log lines by which failures are known", signatures},
      {"versions", "of ocrtune and its libraries", versions},
  };
  return kTable;
}

}  // namespace ocrtune
