// Flags to a demand, in three steps: do they ask one thing, what is the load or the job, and pages
// to lines. Loads given in any form end as one rate at the peak, with its origin beside it for the
// words.
#include "extras/capacity/commands/plan_demand.h"

#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "extras/capacity/amounts.h"
#include "extras/capacity/day_profile.h"
#include "extras/capacity/page_lines.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

Error wrong(const std::string& flag, const std::string& text, const std::string& want) {
  return {ErrorKind::usage, flag + " '" + text + "': " + want};
}

// The value of `flag` as `parse` reads it, where it is given.
template <typename Parse, typename Into>
Status take(const char* flag, const std::string& text, Parse parse, Into& into) {
  if (text.empty()) return {};
  auto value = parse(text);
  if (!value) return Error{value.error().kind, std::string(flag) + " " + value.error().what};
  into = *std::move(value);
  return {};
}

// The load as it came once; its busiest minute is the rate to keep up with.
Status read_load(const std::string& path, CapacityDemand& demand) {
  double began = 0;
  auto trace = OCRTUNE_TRY(read_trace(path, &began));
  // Bursts below a minute are the queue's matter: the rate is that of the busiest minute.
  constexpr double kMinute = 60;
  demand.requests_per_second = trace.back() < kMinute
                                   ? trace_rate(trace)
                                   : busiest_rate(trace, kMinute, &demand.busiest_seconds);
  demand.trace = std::move(trace);
  demand.peak_time = time_of_day_at(began + demand.busiest_seconds);
  return Status();
}

// The rate of the busiest part of the demand's profile.
void take_profile(CapacityDemand& demand) {
  demand.daily_requests = daily_requests(demand.profile);
  const DayProfile::Part& peak = busiest_part(demand.profile);
  demand.requests_per_second = peak.requests_per_second;
  demand.peak_factor = peak.requests_per_second * 86400 / demand.daily_requests;
  demand.peak_time = time_in(demand.profile, peak.begins_minute);
}

Status read_daily(const DemandFlags& flags, CapacityDemand& demand) {
  OCRTUNE_TRY(take("--daily", flags.daily, parse_daily, demand.daily_requests));
  DayPeak peak;
  OCRTUNE_TRY(take("--peak", flags.peak, parse_peak, peak));
  if (!flags.profile.empty()) {
    demand.profile = OCRTUNE_TRY(read_day_profile(flags.profile));
    if (demand.daily_requests > 0) {
      demand.profile = scale_to_day(std::move(demand.profile), demand.daily_requests);
    }
  } else if (peak.begins_minute >= 0) {
    auto profile = profile_of_peak(peak, demand.daily_requests);
    if (!profile) return wrong("--peak", flags.peak, profile.error().what);
    demand.profile = *std::move(profile);
  }
  if (!demand.profile.parts.empty()) {
    take_profile(demand);
    return {};
  }
  if (!flags.peak.empty()) demand.peak_factor = peak.factor;
  demand.requests_per_second = demand.daily_requests / 86400 * demand.peak_factor;
  return {};
}

// A closed population: its rate where answers take no time.
Status read_users(const DemandFlags& flags, CapacityDemand& demand) {
  if (flags.users.empty()) {
    if (flags.pages_each.empty() && flags.think.empty()) return {};
    return Error{ErrorKind::usage, "--pages-each and --think go with --users"};
  }
  if (flags.think.empty()) {
    return Error{ErrorKind::usage,
                 "--users needs --think: the time from an answer to a user's next page"};
  }
  OCRTUNE_TRY(take("--users", flags.users, parse_count, demand.users));
  OCRTUNE_TRY(take("--pages-each", flags.pages_each, parse_count, demand.pages_each));
  OCRTUNE_TRY(take("--think", flags.think, parse_duration, demand.think_seconds));
  demand.requests_per_second = demand.users / demand.think_seconds;
  demand.pages = true;
  if (demand.pages_each > 0) {
    demand.daily_requests = demand.users * demand.pages_each;
    demand.peak_factor = demand.requests_per_second * 86400 / demand.daily_requests;
  }
  return {};
}

// When a job is due and what interrupts it.
Status read_job(const DemandFlags& flags, CapacityDemand& demand) {
  const bool job = !flags.samples.empty() || !flags.pages.empty();
  for (const auto& [flag, text] : {std::pair("--interruptions", &flags.interruptions),
                                   std::pair("--checkpoint-every", &flags.checkpoint_every),
                                   std::pair("--restart", &flags.restart)}) {
    if (!job && !text->empty()) {
      return Error{ErrorKind::usage, std::string(flag) + " goes with --pages or --samples"};
    }
  }
  if (!job) return {};
  Deadline deadline;
  const auto due = [](const std::string& text) { return parse_deadline(text, std::time(nullptr)); };
  OCRTUNE_TRY(take("--deadline", flags.deadline, due, deadline));
  demand.deadline_seconds = deadline.seconds;
  demand.deadline_time = deadline.by;
  OCRTUNE_TRY(take("--samples", flags.samples, parse_count, demand.samples));
  OCRTUNE_TRY(take("--pages", flags.pages, parse_count, demand.samples));
  demand.pages = !flags.pages.empty();
  OCRTUNE_TRY(take("--epochs", flags.epochs, parse_count, demand.epochs));
  Interruptions& stops = demand.interruptions;
  if (!flags.interruptions.empty()) {
    const Status read = parse_interruptions(flags.interruptions, stops);
    if (!read) return Error{read.error().kind, "--interruptions " + read.error().what};
  }
  if (!flags.checkpoint_every.empty()) {
    const Status read = parse_checkpoints(flags.checkpoint_every, stops);
    if (!read) return Error{read.error().kind, "--checkpoint-every " + read.error().what};
  }
  OCRTUNE_TRY(take("--restart", flags.restart, parse_duration, stops.restart_seconds));
  return {};
}

// Whether the flags ask one thing.
Status check_question(const DemandFlags& flags) {
  const bool by_day = !flags.daily.empty() || !flags.profile.empty();  // one, or the two together
  const bool job = !flags.samples.empty() || !flags.pages.empty() || !flags.deadline.empty();
  const int loads = static_cast<int>(!flags.rate.empty()) + static_cast<int>(by_day) +
                    static_cast<int>(!flags.trace.empty()) + static_cast<int>(!flags.users.empty());
  if (loads + static_cast<int>(job) != 1) {
    return Error{ErrorKind::usage,
                 "give one of --rate R, --daily N, --profile FILE, --trace FILE, --users N with "
                 "--think T, or --pages N"};
  }
  if (job && flags.samples.empty() == flags.pages.empty()) {
    return Error{
        ErrorKind::usage,
        "a job is one of --pages N (to read) or --samples N, with --deadline T or without"};
  }
  if (job && !flags.slo.empty()) {
    return Error{ErrorKind::usage,
                 "--slo is a latency target of a load; it goes with --rate, --daily, --profile, "
                 "--trace or --users"};
  }
  if (!flags.peak.empty() && (flags.daily.empty() || !flags.profile.empty())) {
    return Error{ErrorKind::usage, "--peak goes with --daily (a --profile has its own)"};
  }
  return {};
}

// A share of 1 from a percentage between the two.
Status take_percent(const std::string& flag, const std::string& text, double low, double high,
                    Stated<double>& into) {
  if (text.empty()) return {};
  const auto value = parse_number(ends_with(text, "%") ? text.substr(0, text.size() - 1) : text);
  if (!value || !std::isfinite(*value) || *value < low || *value > high) {
    return wrong(flag, text, fmt::format("a percentage from {:g} to {:g}", low, high));
  }
  into = *value / 100;
  return {};
}

void declare_year(Flags& cli, DemandFlags& flags) {
  const char* const year = "The year ahead (where one of these is given)";
  cli.option("--growth", flags.growth, "PERCENT", "Growth of the load per month")
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
  cli.option("--zones", flags.zones, "N",
             "Spread the machines over N zones, so that after the loss of one the others carry all")
      .default_text("1")
      .under(year);
  cli.option("--warm-up", flags.warm_up, "DURATION",
             "Start machines this time before a --profile or --peak needs them")
      .default_text("the measured start, or 5m")
      .under(year);
}

void declare_job(Flags& cli, DemandFlags& flags) {
  const char* const job = "Job to finish";
  cli.option(
         "--pages", flags.pages, "N",
         "Read N pages in shards, each machine its own: 24,800,000, 24.8M; without --deadline: how "
         "long it takes")
      .under(job);
  cli.option("--samples", flags.samples, "N",
             "Train on N images, or read N where the run measured reading")
      .under(job);
  cli.option("--epochs", flags.epochs, "N", "Pass over them N times").default_text("1").under(job);
  cli.option("--deadline", flags.deadline, "TIME",
             "Finish within this time, or by it: 24h, 18:00, 'Fri 18:00', '2026-11-27 18:00'")
      .also("--within")
      .under(job);
  cli.option("--interruptions", flags.interruptions, "TIME|N/TIME",
             "Expect machines to be taken back or to fail: every 8h of one machine, or as often as "
             "was seen, 3/200h being 3 in 200 machine hours")
      .default_text("none")
      .under(job);
  cli.option("--checkpoint-every", flags.checkpoint_every, "TIME[:TAKES]",
             "Interval of checkpoints, and time that each takes: 15m:20s")
      .under(job);
  cli.option("--restart", flags.restart, "DURATION", "Time from an interruption to the next step")
      .default_text("the measured start")
      .under(job);
}

}  // namespace

bool DemandFlags::asks() const {
  for (const std::string* flag :
       {&rate, &daily, &profile, &trace, &users, &samples, &pages, &deadline}) {
    if (!flag->empty()) return true;
  }
  return false;
}

void declare_demand(Flags& cli, DemandFlags& flags) {
  const char* const load = "Load to carry";
  cli.option("--rate", flags.rate, "RATE",
             "Images, pages or requests to recognise: 200, 12,000/min, 1e6/h, 40k/day")
      .under(load);
  cli.option("--daily", flags.daily, "N", "Recognise N images, pages or requests a day: 40,000")
      .under(load);
  cli.option("--peak", flags.peak, "X",
             "Multiply the day's mean rate by X at its peak, or from one time of day to another: "
             "3x, '3x 9-11'")
      .also("--peak-factor")
      .default_text("1")
      .under(load);
  cli.option("--lines-per-page", flags.lines_per_page, "N|FILE",
             "Lines of a page: a number, or a file with your pages' results "
             "(PaddleOCR's or RapidOCR's text output), or with 'LINES PAGES' a line")
      .under(load);
  cli.option("--profile", flags.profile, "FILE",
             "Take the load of a day from lines such as '14:00 12000/min', or of a week from "
             "'Mon-Fri 14:00 12000/min'; with --daily its shape only")
      .under(load)
      .file();
  cli.option("--trace", flags.trace, "FILE",
             "Take recorded arrivals, a time in seconds a line (Unix time tells the time of day)")
      .under(load)
      .file();
  cli.option("--users", flags.users, "N",
             "Serve N users at once, each of whom waits for an answer and then thinks")
      .under(load);
  cli.option("--think", flags.think, "DURATION",
             "Time from an answer to the same user's next page: 20s")
      .under(load);
  cli.option("--pages-each", flags.pages_each, "N", "Pages of each user a day, for the cost")
      .under(load);
  cli.option("--slo", flags.slo, "TARGET", "Meet this latency target: p99=80ms").under(load);
  cli.option("--balancer", flags.balancer, "KIND",
             "Send requests to any machine (random) or to one after the other (turns; also for the "
             "fewest open requests)")
      .default_text("random")
      .under(load);
  declare_year(cli, flags);
  declare_job(cli, flags);
  cli.option("--cost-per-hour", flags.cost, "X", "Cost of one machine, in any currency");
}

Result<CapacityDemand> demand_of(const DemandFlags& flags) {
  OCRTUNE_TRY(check_question(flags));
  CapacityDemand demand;
  OCRTUNE_TRY(take("--rate", flags.rate, parse_rate, demand.requests_per_second));
  if (!flags.daily.empty() || !flags.profile.empty()) OCRTUNE_TRY(read_daily(flags, demand));
  if (!flags.trace.empty()) OCRTUNE_TRY(read_load(flags.trace, demand));
  OCRTUNE_TRY(read_users(flags, demand));
  OCRTUNE_TRY(read_job(flags, demand));
  if (!flags.lines_per_page.empty()) {
    demand.lines_per_page = OCRTUNE_TRY(read_lines_per_page(flags.lines_per_page));
    // Rates count lines from here on; the words divide them again.
    demand.requests_per_second *= mean_requests(demand.lines_per_page);
  }
  OCRTUNE_TRY(take("--slo", flags.slo, parse_slo, demand.slo));
  OCRTUNE_TRY(take("--balancer", flags.balancer, parse_balancer, demand.balancer));
  OCRTUNE_TRY(take("--cost-per-hour", flags.cost, parse_count, demand.cost_per_hour));
  return demand;
}

Result<std::optional<YearDemand>> year_of(const DemandFlags& flags, const CapacityDemand& demand) {
  if (flags.growth.empty() && flags.availability.empty() && flags.machine_availability.empty() &&
      flags.warm_up.empty() && flags.zones.empty()) {
    return std::optional<YearDemand>();
  }
  if (!demand.inference()) {
    return Error{ErrorKind::usage,
                 "--growth, --availability, --machine-availability, --zones and --warm-up are of a "
                 "load, not of a job"};
  }
  YearDemand year;
  OCRTUNE_TRY(take_percent("--growth", flags.growth, -50, 100, year.growth));
  OCRTUNE_TRY(take_percent("--availability", flags.availability, 50, 99.99999, year.availability));
  OCRTUNE_TRY(take_percent("--machine-availability", flags.machine_availability, 50, 100,
                           year.machine_availability));
  OCRTUNE_TRY(take("--warm-up", flags.warm_up, parse_duration, year.warm_up_seconds));
  if (!flags.zones.empty()) {
    const auto zones = parse_integer(flags.zones);
    if (!zones || *zones < 1 || *zones > 20) {
      return wrong("--zones", flags.zones, "a whole number from 1 to 20");
    }
    year.zones = static_cast<int>(*zones);
  }
  return std::optional<YearDemand>(year);
}

}  // namespace ocrtune
