// ocrtune plan: how many machines a load or a deadline takes.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/engine_commands.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "extras/capacity/commands/plan_demand.h"
#include "extras/capacity/commands/plan_sources.h"
#include "extras/capacity/fleet_plan.h"
#include "extras/capacity/other_machine.h"
#include "extras/capacity/reports/plan_builder.h"
#include "extras/capacity/reports/plan_json.h"
#include "extras/capacity/reports/plan_words.h"
#include "extras/capacity/reports/plan_writers.h"
#include "extras/capacity/store_back_test.h"
#include "reports/console/label_lines.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/session/session.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

struct PlanFlags {
  DemandFlags demand;
  std::string command_line;  // as typed
  std::string run, table, machine, csv, out;
  std::vector<std::string> machines;
  std::string db = Store::default_path();
  bool json = false, back_test = false;
};

// The machines to plan for: those named, or one from --run, --table and --machine.
Result<std::vector<MachineKind>> kinds_of(const PlanFlags& flags) {
  const bool single = !flags.run.empty() || !flags.table.empty() || !flags.machine.empty();
  if (!flags.machines.empty()) {
    if (!single) return read_kinds(flags.machines, flags.db);
    return Error{ErrorKind::usage,
                 "name all machines as arguments, or one with --run, --table and --machine"};
  }
  std::vector<MachineKind> kinds;
  if (!flags.table.empty()) {
    const auto table = OCRTUNE_TRY(read_table(flags.table));
    auto settings = OCRTUNE_TRY(measure_settings(table, flags.table));
    kinds.push_back({flags.table, std::move(settings), {}});
  } else {
    const std::string run = flags.run.empty() ? "last" : flags.run;
    auto settings = OCRTUNE_TRY(measure_run(flags.db, run));
    kinds.push_back({run, std::move(settings), {}});
  }
  if (!flags.machine.empty()) {
    const auto machine = OCRTUNE_TRY(read_machine(flags.machine));
    const auto scaled = OCRTUNE_TRY(scale_to_machine(kinds.front().settings.front(), machine));
    kinds.front().settings.assign(1, scaled);
  }
  return kinds;
}

struct PlanFile {
  const char* name;
  std::string text;
};

Status write_files(const std::string& folder, const std::vector<PlanFile>& files) {
  if (folder.empty()) return {};
  OCRTUNE_TRY(make_output_folder(folder));
  for (const PlanFile& file : files) {
    if (!file.text.empty()) OCRTUNE_TRY(write_file(join_path(folder, file.name), file.text));
  }
  return {};
}

Status write_plan(const PlanFlags& flags, const FleetPlan& fleet, const PlanDocument& document,
                  const std::string& json) {
  const std::vector<PlanFile> tables = {
      {"capacity.csv", csv_text(capacity_table(fleet.plan()))},
      {"year.csv", fleet.year ? csv_text(year_table(*fleet.year)) : ""},
      {"kinds.csv", fleet.kinds.size() > 1 ? csv_text(kinds_table(fleet)) : ""},
      {"back_test.csv", fleet.back_test ? csv_text(back_test_table(*fleet.back_test)) : ""}};
  OCRTUNE_TRY(write_files(flags.csv, tables));
  OCRTUNE_TRY(write_files(flags.out, tables));
  return write_files(flags.out, {{"sheet.html", plan_page(document)},
                                 {"sheet.md", plan_markdown(document, Language::english)},
                                 {"sheet.zh.md", plan_markdown(document, Language::chinese)},
                                 {"sheet.csv", csv_text(plan_sheet_table(document))},
                                 {"hpa.yaml", fleet.autoscale ? hpa_yaml(fleet) : ""},
                                 {"keda.yaml", fleet.autoscale ? keda_yaml(fleet) : ""},
                                 {"rules.yaml", prometheus_rules(document)},
                                 {"prometheusrule.yaml", prometheus_rule_object(document)},
                                 {"dashboard.json", grafana_dashboard(document)},
                                 {"capacity.json", json}});
}

// Every finished run of the store, judged, the oldest first.
Result<std::vector<RunRecord>> finished_runs(const std::string& db) {
  const auto store = OCRTUNE_TRY(Store::open(db, Store::Mode::read));
  std::vector<RunRecord> runs;
  const auto listings = OCRTUNE_TRY(store->list_runs());
  for (const RunListing& listing : listings) {
    if (listing.state != "done") continue;
    auto run = judged_run(*store, listing.id);
    if (!run && left_to_engine()) return run.error();
    if (run) runs.push_back(*std::move(run));
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

// No load is asked for: were plans right so far?
Result<int> run_back_test_alone(const PlanFlags& flags) {
  std::optional<WorkLine> line(std::in_place, terminal_text("comparing stored runs"), flags.json);
  const auto tests = store_back_tests(OCRTUNE_TRY(finished_runs(flags.db)));
  line.reset();
  const std::vector<PlanFile> files = {{"back_test.csv", csv_text(back_test_table(tests))}};
  OCRTUNE_TRY(write_files(flags.csv, files));
  OCRTUNE_TRY(write_files(flags.out, files));
  const Language language = terminal_language();
  std::string page =
      flags.json ? store_test_json(tests) : in(store_test_words(tests), language) + "\n";
  if (!flags.json && !tests.empty()) {
    page += "\n" + plan_table_text(store_test_table(tests), console_width(stdout), language);
  }
  std::fputs(page.c_str(), stdout);
  return tests.empty() ? kExitNegative : kExitOk;
}

Result<int> run_plan(const PlanFlags& flags) {
  if (flags.back_test && !flags.table.empty()) {
    return Error{ErrorKind::usage, "--back-test is of stored runs: give no --table with it"};
  }
  if (flags.back_test && !flags.demand.asks()) return run_back_test_alone(flags);
  std::optional<WorkLine> line(std::in_place, terminal_text("planning"), flags.json);
  auto demand = OCRTUNE_TRY(demand_of(flags.demand));
  const auto ahead = OCRTUNE_TRY(year_of(flags.demand, demand));
  const auto kinds = OCRTUNE_TRY(kinds_of(flags));
  const NodeMeasurement& first = kinds.front().settings.front();
  if (demand.inference() && !demand.slo && !first.slo.empty()) {
    demand.slo = OCRTUNE_TRY(parse_slo(first.slo));  // the one that was measured
  }
  auto fleet = OCRTUNE_TRY(plan_fleet(kinds, demand, ahead));
  fleet.command_line = flags.command_line;
  fleet.date = utc_now().substr(0, 10);
  if (flags.back_test) fleet.back_test = store_back_tests(OCRTUNE_TRY(finished_runs(flags.db)));
  const PlanDocument document = plan_document(fleet);
  const std::string json = plan_json(fleet);
  OCRTUNE_TRY(write_plan(flags, fleet, document, json));
  line.reset();
  const std::string page =
      flags.json ? json : plan_console(document, console_width(stdout), terminal_language());
  std::fputs(page.c_str(), stdout);
  return fleet.plan().refused() ? kExitNegative : kExitOk;
}

}  // namespace

CommandRun declare_plan(Flags& cli) {
  auto flags = std::make_shared<PlanFlags>();
  flags->command_line = valid_utf8(shell_join(cli.words()));
  cli.argument(
      "machines", flags->machines,
      "Machines to choose from, each with a price an hour behind =: a run, a store file of "
      "another machine (its last run, or FILE:RUN), a table, or a probe --json to scale the "
      "first one to (EXTRAPOLATED)");
  declare_demand(cli, flags->demand);
  cli.option("--run", flags->run, "RUN", "Plan from this stored run")
      .default_text("last")
      .from_list("runs");
  cli.option("--table", flags->table, "FILE", "Plan from a recorded table instead of a run").file();
  cli.option("--machine", flags->machine, "FILE",
             "Plan for the machine of this probe --json (EXTRAPOLATED)")
      .file();
  cli.toggle("--back-test", flags->back_test,
             "Compare what stored runs predict with what others measured, with or without a load");
  cli.option("--csv", flags->csv, "DIR", "Write capacity.csv to this folder").folder();
  cli.out(flags->out, "DIR",
          "Write a sheet to sign (sheet.html, .md, .csv), autoscaling objects (hpa.yaml, "
          "keda.yaml), alerts (rules.yaml, prometheusrule.yaml), a Grafana dashboard.json, "
          "capacity.csv and capacity.json (for report --with) to this folder")
      .folder();
  cli.store(flags->db);
  cli.json(flags->json);
  return [flags] { return run_plan(*flags); };
}

}  // namespace ocrtune
