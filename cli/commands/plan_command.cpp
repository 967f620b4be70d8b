// ocrtune plan: how many machines a load or a deadline takes.
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "capacity/capacity_answer.h"
#include "capacity/day_profile.h"
#include "capacity/other_machine.h"
#include "capacity/page_lines.h"
#include "capacity/year.h"
#include "cli/commands.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/terminal.h"
#include "reports/console/capacity_page.h"
#include "reports/console/year_page.h"
#include "trial/workloads/service/arrivals.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

struct PlanFlags {
  std::string rate, slo, daily, samples, epochs, deadline, run = "last", table, machine, cost;
  std::string peak_factor, csv, trace, profile, out, lines_per_page, balancer = "random";
  std::string growth, availability, machine_availability, warm_up;
  std::string db = Store::default_path();
  bool json = false;
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

Result<CapacityDemand> demand_of(const PlanFlags& flags) {
  CapacityDemand demand;
  const bool by_day = !flags.daily.empty() || !flags.profile.empty();  // one, or the two together
  const int loads = static_cast<int>(!flags.rate.empty()) + static_cast<int>(by_day) +
                    static_cast<int>(!flags.trace.empty());
  const bool training = !flags.samples.empty() || !flags.deadline.empty();
  if (loads + static_cast<int>(training) != 1) {
    return Error{
        ErrorKind::usage,
        "give one of --rate R, --daily N, --profile FILE, --trace FILE, or --samples N with "
        "--deadline T"};
  }
  if (training && (flags.samples.empty() || flags.deadline.empty())) {
    return Error{ErrorKind::usage, "training needs both --samples N and --deadline T"};
  }
  if (training && !flags.slo.empty()) {
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
    if (training) {
      return Error{ErrorKind::usage,
                   "--lines-per-page is of inference; it goes with --rate, --daily, "
                   "--profile or --trace"};
    }
    demand.lines_per_page = OCRTUNE_TRY(read_lines_per_page(flags.lines_per_page));
    demand.requests_per_second *= mean_requests(demand.lines_per_page);
  }
  if (!flags.deadline.empty()) {
    const auto deadline = parse_duration(flags.deadline);
    if (!deadline) {
      return wrong("--deadline", flags.deadline, "a time from now, above zero, like 8h or 90m");
    }
    demand.deadline_seconds = *deadline;
  }
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

Result<std::vector<NodeMeasurement>> measurements_of(const PlanFlags& flags,
                                                     const CapacityDemand& demand) {
  if (!flags.table.empty()) {
    const auto table = OCRTUNE_TRY(read_table(flags.table));
    return measure_settings(table, flags.table);
  }
  if (!path_exists(flags.db)) {
    return Error{ErrorKind::missing, "no run is stored in " + flags.db + "; run `ocrtune tune" +
                                         (demand.inference() ? " --mode infer" : "") +
                                         "` first, or give --table T.csv"};
  }
  const auto run = OCRTUNE_TRY(judged_run(flags.db, flags.run));
  const std::string wanted = demand.inference() ? "infer" : "train";
  if (run.options.mode != wanted) {
    return Error{ErrorKind::usage, "run " + run.id + " measured " + run.options.mode +
                                       ", and this plan needs a run of tune --mode " + wanted};
  }
  return measure_settings(run);
}

Result<int> run_plan(const PlanFlags& flags) {
  auto demand = OCRTUNE_TRY(demand_of(flags));
  const auto ahead = OCRTUNE_TRY(year_of(flags, demand));
  auto settings = OCRTUNE_TRY(measurements_of(flags, demand));
  const NodeMeasurement& first = settings.front();
  if (demand.inference() && !demand.slo && !first.slo.empty()) {
    demand.slo = *parse_slo(first.slo);  // the one that was measured
  }
  if (!flags.machine.empty()) {
    const auto machine = OCRTUNE_TRY(read_machine(flags.machine));
    const auto scaled = OCRTUNE_TRY(scale_to_machine(first, machine));
    settings.assign(1, scaled);
  }
  const auto plan = OCRTUNE_TRY(answer_capacity(settings, demand));
  std::optional<YearPlan> year;
  if (ahead && !plan.refused) year = plan_year(plan, *ahead);
  for (const std::string& folder : {flags.csv, flags.out}) {
    if (folder.empty()) continue;
    OCRTUNE_TRY(make_output_folder(folder));
    OCRTUNE_TRY(write_file(join_path(folder, "capacity.csv"), capacity_csv(plan)));
    if (year) {
      OCRTUNE_TRY(write_file(join_path(folder, "year.csv"), csv_text(year_table(*year))));
    }
  }
  const std::string json = capacity_json(plan, year ? &*year : nullptr);
  if (!flags.out.empty()) {
    OCRTUNE_TRY(write_file(join_path(flags.out, "capacity.json"), json));
  }
  const int width = terminal_width(stdout);
  std::string page = flags.json ? json : capacity_text(plan, width);
  if (year && !flags.json) page += year_text(*year, plan, width);
  std::fputs(page.c_str(), stdout);
  return plan.refused ? kExitNegative : kExitOk;
}

}  // namespace

CommandRun declare_plan(Flags& cli) {
  auto flags = std::make_shared<PlanFlags>();
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
  const char* const year = "The year ahead (where one of these is given)";
  cli.option("--growth", flags->growth, "PERCENT", "Let the load grow by so much a month")
      .default_text("0")
      .under(year);
  cli.option("--availability", flags->availability, "PERCENT",
             "Have enough machines for this share of the time: N+k")
      .default_text("99.9")
      .under(year);
  cli.option("--machine-availability", flags->machine_availability, "PERCENT",
             "Take each machine as up for this share, work on it included")
      .default_text("99.5")
      .under(year);
  cli.option("--warm-up", flags->warm_up, "DURATION",
             "Start machines so long before a --profile needs them")
      .default_text("5m")
      .under(year);
  const char* const training = "Training to finish";
  cli.option("--samples", flags->samples, "N", "Train on N images").under(training);
  cli.option("--epochs", flags->epochs, "N", "Pass over them N times")
      .default_text("1")
      .under(training);
  cli.option("--deadline", flags->deadline, "DURATION", "Finish within this time: 24h")
      .under(training);
  cli.option("--run", flags->run, "RUN", "Plan from this stored run").from_list("runs");
  cli.option("--table", flags->table, "FILE", "Plan from a recorded table instead of a run").file();
  cli.option("--machine", flags->machine, "FILE",
             "Plan for the machine of this probe --json (EXTRAPOLATED)")
      .file();
  cli.option("--cost-per-hour", flags->cost, "X", "Cost of one machine, in any currency");
  cli.option("--csv", flags->csv, "DIR", "Write capacity.csv to this folder").folder();
  cli.option("--out", flags->out, "DIR",
             "Write capacity.csv and capacity.json (for report --with) to this folder")
      .folder();
  cli.store(flags->db);
  cli.json(flags->json);
  return [flags] { return run_plan(*flags); };
}

}  // namespace ocrtune
