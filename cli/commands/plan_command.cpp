// ocrtune plan: how many machines a load or a deadline takes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "capacity/capacity_answer.h"
#include "capacity/day_profile.h"
#include "capacity/machine_kinds.h"
#include "capacity/other_machine.h"
#include "capacity/page_lines.h"
#include "capacity/store_back_test.h"
#include "capacity/year.h"
#include "cli/commands.h"
#include "cli/commands/plan_sources.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "reports/console/capacity_text.h"
#include "reports/console/kinds_text.h"
#include "reports/console/year_text.h"
#include "reports/html/capacity_sheet.h"
#include "trial/workloads/service/arrivals.h"
#include "tuner/session/session.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

struct PlanFlags {
  std::string rate, slo, daily, samples, epochs, deadline, run, table, machine, cost;
  std::string peak_factor, csv, trace, profile, out, lines_per_page, balancer = "random";
  std::string interruptions, checkpoint_every, restart;
  std::string growth, availability, machine_availability, warm_up;
  std::vector<std::string> machines;
  std::string db = Store::default_path();
  bool json = false, back_test = false;
};

Error wrong(const std::string& flag, const std::string& text, const std::string& want) {
  return {ErrorKind::usage, flag + " '" + text + "': " + want};
}

Result<double> above_zero(const std::string& flag, const std::string& text) {
  const auto value = parse_number(text);
  if (!value || !std::isfinite(*value)) return wrong(flag, text, "not a number");
  if (*value <= 0) return wrong(flag, text, "must be above zero");
  return *value;
}

// The load as it came once; its busiest minute is the rate to keep up with.
Status read_load(const std::string& path, CapacityDemand& demand) {
  double began = 0;
  auto trace = OCRTUNE_TRY(read_trace(path, &began));
  constexpr double kMinute = 60;
  demand.requests_per_second = trace.back() < kMinute
                                   ? trace_rate(trace)
                                   : busiest_rate(trace, kMinute, &demand.busiest_seconds);
  demand.trace = std::move(trace);
  demand.peak_time = time_of_day_at(began + demand.busiest_seconds);
  return Status();
}

// A day's profile, scaled to --daily where that is given too: the rate of its busiest part.
Status read_profile(const std::string& path, CapacityDemand& demand) {
  demand.profile = OCRTUNE_TRY(read_day_profile(path));
  if (demand.daily_requests > 0) {
    demand.profile = scale_to_day(std::move(demand.profile), demand.daily_requests);
  }
  demand.daily_requests = daily_requests(demand.profile);
  const DayProfile::Part& peak = busiest_part(demand.profile);
  demand.requests_per_second = peak.requests_per_second;
  demand.peak_factor = peak.requests_per_second * 86400 / demand.daily_requests;
  demand.peak_time = time_in(demand.profile, peak.begins_minute);
  return Status();
}

// The rate to keep up with, from whichever flag tells it.
Status read_rate(const PlanFlags& flags, CapacityDemand& demand) {
  if (!flags.rate.empty()) {
    const auto rate = parse_rate(flags.rate);
    if (!rate) return Error{ErrorKind::usage, "--rate " + rate.error().what};
    demand.requests_per_second = *rate;
  }
  if (!flags.daily.empty()) {
    demand.requests_per_second = demand.daily_requests / 86400 * demand.peak_factor;
  }
  if (!flags.profile.empty()) {
    OCRTUNE_TRY(read_profile(flags.profile, demand));
  }
  if (!flags.trace.empty()) {
    OCRTUNE_TRY(read_load(flags.trace, demand));
  }
  return Status();
}

// When a job is due and what interrupts it.
Status read_job(const PlanFlags& flags, CapacityDemand& demand) {
  const bool job = !flags.deadline.empty();
  for (const auto& [flag, text] : {std::pair("--interruptions", &flags.interruptions),
                                   std::pair("--checkpoint-every", &flags.checkpoint_every),
                                   std::pair("--restart", &flags.restart)}) {
    if (!job && !text->empty()) {
      return Error{ErrorKind::usage, std::string(flag) + " goes with --samples and --deadline"};
    }
  }
  if (!job) return {};
  const auto named = [](const char* flag, const Error& error) {
    return Error{error.kind, std::string(flag) + " " + error.what};
  };
  const auto deadline = parse_deadline(flags.deadline, std::time(nullptr));
  if (!deadline) return named("--deadline", deadline.error());
  demand.deadline_seconds = deadline->seconds;
  demand.deadline_time = deadline->by;
  Interruptions& stops = demand.interruptions;
  if (!flags.interruptions.empty()) {
    const Status read = parse_interruptions(flags.interruptions, stops);
    if (!read) return named("--interruptions", read.error());
  }
  if (!flags.checkpoint_every.empty()) {
    const Status read = parse_checkpoints(flags.checkpoint_every, stops);
    if (!read) return named("--checkpoint-every", read.error());
  }
  if (!flags.restart.empty()) {
    const auto seconds = parse_duration(flags.restart);
    if (!seconds) return wrong("--restart", flags.restart, "a time above zero, like 5m");
    stops.restart_seconds = *seconds;
  }
  return {};
}

bool asks_for_load(const PlanFlags& flags) {
  for (const std::string* flag :
       {&flags.rate, &flags.daily, &flags.profile, &flags.trace, &flags.samples, &flags.deadline}) {
    if (!flag->empty()) return true;
  }
  return false;
}

Result<CapacityDemand> demand_of(const PlanFlags& flags) {
  CapacityDemand demand;
  const bool by_day = !flags.daily.empty() || !flags.profile.empty();  // one, or the two together
  const int loads = static_cast<int>(!flags.rate.empty()) + static_cast<int>(by_day) +
                    static_cast<int>(!flags.trace.empty());
  const bool job = !flags.samples.empty() || !flags.deadline.empty();
  if (loads + static_cast<int>(job) != 1) {
    return Error{
        ErrorKind::usage,
        "give one of --rate R, --daily N, --profile FILE, --trace FILE, or --samples N with "
        "--deadline T"};
  }
  if (job && (flags.samples.empty() || flags.deadline.empty())) {
    return Error{ErrorKind::usage, "a job needs both --samples N and --deadline T"};
  }
  if (job && !flags.slo.empty()) {
    return Error{
        ErrorKind::usage,
        "--slo is a latency target of inference; it goes with --rate, --daily, --profile or "
        "--trace"};
  }
  if (!flags.peak_factor.empty() && (flags.daily.empty() || !flags.profile.empty())) {
    return Error{ErrorKind::usage, "--peak-factor goes with --daily (a --profile has its own)"};
  }
  const auto take = [](const char* flag, const std::string& text, double& into) -> Status {
    if (text.empty()) return {};
    into = OCRTUNE_TRY(above_zero(flag, text));
    return {};
  };
  for (const Status& status : {take("--samples", flags.samples, demand.samples),
                               take("--epochs", flags.epochs, demand.epochs),
                               take("--daily", flags.daily, demand.daily_requests),
                               take("--peak-factor", flags.peak_factor, demand.peak_factor)}) {
    if (!status) return status.error();
  }
  if (demand.peak_factor < 1) {
    return wrong("--peak-factor", flags.peak_factor, "the peak is at least the mean: 1 or more");
  }
  OCRTUNE_TRY(read_rate(flags, demand));
  if (!flags.lines_per_page.empty()) {
    demand.lines_per_page = OCRTUNE_TRY(read_lines_per_page(flags.lines_per_page));
    demand.requests_per_second *= mean_requests(demand.lines_per_page);
  }
  OCRTUNE_TRY(read_job(flags, demand));
  if (!flags.slo.empty()) {
    const auto slo = parse_slo(flags.slo);
    if (!slo) return Error{ErrorKind::usage, "--slo " + slo.error().what};
    demand.slo = *slo;
  }
  const auto balancer = parse_balancer(flags.balancer);
  if (!balancer) return Error{ErrorKind::usage, "--balancer " + balancer.error().what};
  demand.balancer = *balancer;
  if (!flags.cost.empty()) {
    demand.cost_per_hour = OCRTUNE_TRY(above_zero("--cost-per-hour", flags.cost));
  }
  return demand;
}

// A share of 1 from a percentage between the two.
Status take_percent(const std::string& flag, const std::string& text, double low, double high,
                    double& into) {
  if (text.empty()) return {};
  const auto value = parse_number(ends_with(text, "%") ? text.substr(0, text.size() - 1) : text);
  if (!value || !std::isfinite(*value) || *value < low || *value > high) {
    return wrong(flag, text, fmt::format("a percentage from {:g} to {:g}", low, high));
  }
  into = *value / 100;
  return {};
}

// The year, where one of its flags is given.
Result<std::optional<YearDemand>> year_of(const PlanFlags& flags, const CapacityDemand& demand) {
  if (flags.growth.empty() && flags.availability.empty() && flags.machine_availability.empty() &&
      flags.warm_up.empty()) {
    return std::optional<YearDemand>();
  }
  if (!demand.inference()) {
    return Error{ErrorKind::usage,
                 "--growth, --availability, --machine-availability and --warm-up are of inference"};
  }
  YearDemand year;
  OCRTUNE_TRY(take_percent("--growth", flags.growth, -50, 100, year.growth));
  OCRTUNE_TRY(take_percent("--availability", flags.availability, 50, 99.99999, year.availability));
  OCRTUNE_TRY(take_percent("--machine-availability", flags.machine_availability, 50, 100,
                           year.machine_availability));
  if (!flags.warm_up.empty()) {
    const auto seconds = parse_duration(flags.warm_up);
    if (!seconds) return wrong("--warm-up", flags.warm_up, "a time above zero, like 5m");
    year.warm_up_seconds = *seconds;
  }
  return std::optional<YearDemand>(year);
}

// The machines to plan for: those named, or one from --run, --table and --machine.
Result<std::vector<MachineKind>> kinds_of(const PlanFlags& flags, const CapacityDemand& demand) {
  const bool single = !flags.run.empty() || !flags.table.empty() || !flags.machine.empty();
  if (!flags.machines.empty()) {
    if (!single) return read_kinds(flags.machines, flags.db, demand);
    return Error{ErrorKind::usage,
                 "name all machines as arguments, or one with --run, --table and --machine"};
  }
  std::vector<MachineKind> kinds;
  if (!flags.table.empty()) {
    const auto table = OCRTUNE_TRY(read_table(flags.table));
    auto settings = OCRTUNE_TRY(measure_settings(table, flags.table));
    kinds.push_back({flags.table, std::move(settings), {}});
  } else {
    kinds = OCRTUNE_TRY(read_kinds({flags.run.empty() ? "last" : flags.run}, flags.db, demand));
  }
  if (!flags.machine.empty()) {
    const auto machine = OCRTUNE_TRY(read_machine(flags.machine));
    const auto scaled = OCRTUNE_TRY(scale_to_machine(kinds.front().settings.front(), machine));
    kinds.front().settings.assign(1, scaled);
  }
  return kinds;
}

// As typed.
std::string own_command_line() {
  std::string bytes = read_file("/proc/self/cmdline").value_or("ocrtune plan");
  if (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  return valid_utf8(shell_join(split(bytes, '\0')));
}

Status write_sheet(const std::string& folder, const CapacitySheet& sheet) {
  for (const auto& [name, text] :
       {std::pair("sheet.html", sheet_html(sheet)),
        std::pair("sheet.md", sheet_markdown(sheet, SheetLanguage::english)),
        std::pair("sheet.zh.md", sheet_markdown(sheet, SheetLanguage::chinese)),
        std::pair("sheet.csv", csv_text(sheet_table(sheet)))}) {
    OCRTUNE_TRY(write_file(join_path(folder, name), text));
  }
  return {};
}

Status write_files(const PlanFlags& flags, const KindsPlan& plans, const YearPlan* year,
                   const std::string& json) {
  const CapacityPlan& plan = plans.kinds.front().plan;
  for (const std::string& folder : {flags.csv, flags.out}) {
    if (folder.empty()) continue;
    OCRTUNE_TRY(make_output_folder(folder));
    OCRTUNE_TRY(write_file(join_path(folder, "capacity.csv"), capacity_csv(plan)));
    if (year != nullptr) {
      OCRTUNE_TRY(write_file(join_path(folder, "year.csv"), csv_text(year_table(*year))));
    }
    if (plans.kinds.size() > 1) {
      OCRTUNE_TRY(write_file(join_path(folder, "kinds.csv"), csv_text(kinds_table(plans))));
    }
  }
  if (flags.out.empty()) return {};
  OCRTUNE_TRY(write_sheet(
      flags.out, capacity_sheet(plans, year, own_command_line(), utc_now().substr(0, 10))));
  return write_file(join_path(flags.out, "capacity.json"), json);
}

// Every finished run of the store, judged, the oldest first.
Result<std::vector<RunRecord>> finished_runs(const std::string& db) {
  const auto store = OCRTUNE_TRY(Store::open(db, Store::Mode::read));
  std::vector<RunRecord> runs;
  const auto listings = OCRTUNE_TRY(store->list_runs());
  for (const RunListing& listing : listings) {
    if (listing.state != "done") continue;
    auto run = judged_run(*store, listing.id);
    if (run) runs.push_back(*std::move(run));
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

Status write_back_tests(const PlanFlags& flags, const std::vector<StoreBackTest>& tests) {
  for (const std::string& folder : {flags.csv, flags.out}) {
    if (folder.empty()) continue;
    OCRTUNE_TRY(make_output_folder(folder));
    OCRTUNE_TRY(write_file(join_path(folder, "back_test.csv"), csv_text(back_test_table(tests))));
  }
  return Status();
}

// No load is asked for: were plans right so far?
Result<int> run_back_test_alone(const PlanFlags& flags) {
  std::optional<WorkLine> line(std::in_place, "comparing stored runs", flags.json);
  const auto tests = store_back_tests(OCRTUNE_TRY(finished_runs(flags.db)));
  line.reset();
  OCRTUNE_TRY(write_back_tests(flags, tests));
  const std::string page =
      flags.json ? back_test_json(tests) : back_test_text(tests, console_width(stdout));
  std::fputs(page.c_str(), stdout);
  return tests.empty() ? kExitNegative : kExitOk;
}

Result<int> run_plan(const PlanFlags& flags) {
  if (flags.back_test && !flags.table.empty()) {
    return Error{ErrorKind::usage, "--back-test is of stored runs: give no --table with it"};
  }
  if (flags.back_test && !asks_for_load(flags)) return run_back_test_alone(flags);
  std::optional<WorkLine> line(std::in_place, "planning", flags.json);
  auto demand = OCRTUNE_TRY(demand_of(flags));
  const auto ahead = OCRTUNE_TRY(year_of(flags, demand));
  const auto kinds = OCRTUNE_TRY(kinds_of(flags, demand));
  const NodeMeasurement& first = kinds.front().settings.front();
  if (!demand.inference() && !demand.lines_per_page.empty() && first.mode != "infer") {
    return Error{ErrorKind::usage,
                 "--lines-per-page is of inference, and " + first.source + " measured training"};
  }
  if (demand.inference() && !demand.slo && !first.slo.empty()) {
    demand.slo = *parse_slo(first.slo);  // the one that was measured
  }
  const auto plans = OCRTUNE_TRY(plan_kinds(kinds, demand));
  const CapacityPlan& plan = plans.kinds.front().plan;
  std::optional<YearPlan> year;
  if (ahead && !plan.refused) year = plan_year(plan, *ahead);
  std::optional<std::vector<StoreBackTest>> tests;
  if (flags.back_test) {
    tests = store_back_tests(OCRTUNE_TRY(finished_runs(flags.db)));
    OCRTUNE_TRY(write_back_tests(flags, *tests));
  }
  const YearPlan* const year_ahead = year ? &*year : nullptr;
  const std::string json = capacity_json(plans, year_ahead, tests ? &*tests : nullptr);
  OCRTUNE_TRY(write_files(flags, plans, year_ahead, json));
  const int width = console_width(stdout);
  std::string page = flags.json ? json : kinds_text(plans, width) + capacity_text(plan, width);
  if (year && !flags.json) page += year_text(*year, plan, width);
  if (tests && !flags.json) page += back_test_text(*tests, width);
  line.reset();
  std::fputs(page.c_str(), stdout);
  return plan.refused ? kExitNegative : kExitOk;
}

void declare_year(Flags& cli, PlanFlags& flags) {
  const char* const year = "The year ahead (where one of these is given)";
  cli.option("--growth", flags.growth, "PERCENT", "Let the load grow by so much a month")
      .default_text("0")
      .under(year);
  cli.option("--availability", flags.availability, "PERCENT",
             "Have enough machines for this share of the time: N+k")
      .default_text("99.9")
      .under(year);
  cli.option("--machine-availability", flags.machine_availability, "PERCENT",
             "Take each machine as up for this share, work on it included")
      .default_text("99.5")
      .under(year);
  cli.option("--warm-up", flags.warm_up, "DURATION",
             "Start machines so long before a --profile needs them")
      .default_text("5m")
      .under(year);
}

void declare_job(Flags& cli, PlanFlags& flags) {
  const char* const job = "Job to finish";
  cli.option("--samples", flags.samples, "N",
             "Train on N images, or read so many where the run measured inference")
      .under(job);
  cli.option("--epochs", flags.epochs, "N", "Pass over them N times").default_text("1").under(job);
  cli.option("--deadline", flags.deadline, "TIME",
             "Finish within this time, or by it: 24h, 18:00, 'Fri 18:00', '2026-11-27 18:00'")
      .under(job);
  cli.option("--interruptions", flags.interruptions, "TIME|N/TIME",
             "Expect machines to be taken back or to fail: every 8h of one machine, or as often as "
             "was seen, 3/200h being 3 in 200 machine hours")
      .default_text("none")
      .under(job);
  cli.option("--checkpoint-every", flags.checkpoint_every, "TIME[:TAKES]",
             "Write a checkpoint so often, and wait for it so long: 15m:20s")
      .under(job);
  cli.option("--restart", flags.restart, "DURATION",
             "Take so long from an interruption to the next step")
      .default_text("the measured start")
      .under(job);
}

}  // namespace

CommandRun declare_plan(Flags& cli) {
  auto flags = std::make_shared<PlanFlags>();
  cli.argument(
      "machines", flags->machines,
      "Machines to choose from, each with a price an hour behind =: a run, a store file of "
      "another machine (its last run, or FILE:RUN), a table, or a probe --json to scale the "
      "first one to (EXTRAPOLATED)");
  const char* const load = "Load to carry";
  cli.option("--rate", flags->rate, "RATE",
             "Recognise so many images, pages or requests: 200, 12000/min, 1e6/h")
      .under(load);
  cli.option("--daily", flags->daily, "N", "Recognise N images a day").under(load);
  cli.option("--lines-per-page", flags->lines_per_page, "N|FILE",
             "Recognise pages with so many lines: a number, or a file with your pages' results "
             "(PaddleOCR's or RapidOCR's text output), or with 'LINES PAGES' a line")
      .under(load);
  cli.option("--profile", flags->profile, "FILE",
             "Take the load of a day from lines such as '14:00 12000/min', or of a week from "
             "'Mon-Fri 14:00 12000/min'; with --daily its shape only")
      .under(load)
      .file();
  cli.option("--trace", flags->trace, "FILE",
             "Take recorded arrivals, a time in seconds a line (Unix time tells the time of day)")
      .under(load)
      .file();
  cli.option("--peak-factor", flags->peak_factor, "X",
             "Multiply the day's mean rate by X at its peak")
      .also("--peak")
      .default_text("1")
      .under(load);
  cli.option("--slo", flags->slo, "TARGET", "Meet this latency target: p99=80ms").under(load);
  cli.option("--balancer", flags->balancer, "KIND",
             "Send requests to any machine (random) or to one after the other (turns; also for the "
             "fewest open requests)")
      .default_text("random")
      .under(load);
  declare_year(cli, *flags);
  declare_job(cli, *flags);
  cli.option("--run", flags->run, "RUN", "Plan from this stored run")
      .default_text("last")
      .from_list("runs");
  cli.option("--table", flags->table, "FILE", "Plan from a recorded table instead of a run").file();
  cli.option("--machine", flags->machine, "FILE",
             "Plan for the machine of this probe --json (EXTRAPOLATED)")
      .file();
  cli.toggle("--back-test", flags->back_test,
             "Compare what stored runs predict with what others measured, with or without a load");
  cli.option("--cost-per-hour", flags->cost, "X", "Cost of one machine, in any currency");
  cli.option("--csv", flags->csv, "DIR", "Write capacity.csv to this folder").folder();
  cli.option("--out", flags->out, "DIR",
             "Write a sheet to sign (sheet.html, .md, .csv), capacity.csv and capacity.json (for "
             "report --with) to this folder")
      .folder();
  cli.store(flags->db);
  cli.json(flags->json);
  return [flags] { return run_plan(*flags); };
}

}  // namespace ocrtune
