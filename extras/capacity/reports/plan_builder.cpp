// The document's parts in its order: answer, numbers with their basis, tables, assumptions, gaps,
// what to measure next, watches. Words of whole sentences are plan_words.cpp's.
#include "extras/capacity/reports/plan_builder.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "extras/capacity/reports/plan_words.h"

namespace ocrtune {
namespace {

constexpr double kRoot90 = 1.645;  // deviations from the middle to either end of 90 %

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }
std::string money(double value) { return fmt::format("{:.2f}", value); }
std::string number(double value) { return format_count(value); }

std::string interval_text(const Interval& rate) {
  return fmt::format("{} ({}-{})", number(rate.median), number(rate.low), number(rate.high));
}

Bilingual rate_interval(const Interval& rate, const std::string& unit) {
  return phrase("{} {}/s", {interval_text(rate), phrase(unit)});
}

class Builder {
 public:
  explicit Builder(const FleetPlan& fleet) : fleet_(fleet), plan_(fleet.plan()) {}

  PlanDocument made() {
    out_.answer = plan_answer(fleet_);
    out_.command_line = fleet_.command_line;
    out_.date = fleet_.date;
    if (plan_.extrapolated) out_.badges.emplace_back("EXTRAPOLATED");
    if (plan_.node.inconclusive) out_.badges.emplace_back("INCONCLUSIVE");
    add_answer();
    demand().inference() ? add_load() : add_job();
    add_measured();
    add_prices();
    add_rows();
    add_kinds();
    add_back_tests();
    if (fleet_.year) add_year(*fleet_.year);
    if (fleet_.autoscale) add_autoscale(*fleet_.autoscale);
    if (fleet_.back_test) out_.tables.push_back(store_test_table(*fleet_.back_test));
    out_.assumptions = plan_assumptions(fleet_);
    add_gaps();
    add_next();
    add_watches(fleet_, out_);
    return std::move(out_);
  }

 private:
  const CapacityDemand& demand() const { return plan_.demand; }

  void add(const Bilingual& item, const Bilingual& value, const char* basis,
           const Bilingual& source, const std::string& date) {
    out_.numbers.push_back({item, value, basis, source, date});
  }
  void given(const char* item, const Bilingual& value) {
    add(phrase(item), value, "given", phrase("the command line"), fleet_.date);
  }
  // A number that has a default.
  void stated(const char* item, const Bilingual& value, bool is_given, const char* flag) {
    if (is_given) return given(item, value);
    add(phrase(item), value, "assumed", phrase("the default of {}", {std::string(flag)}), "");
  }
  void assumed(const char* item, const Bilingual& value) {
    add(phrase(item), value, "assumed", Bilingual("docs/capacity.md"), "");
  }
  void measured(const char* item, const Bilingual& value, const char* basis = "measured") {
    measured(phrase(item), value, basis);
  }
  void measured(const Bilingual& item, const Bilingual& value, const char* basis = "measured") {
    add(item, value, basis, source_words(plan_.node), plan_.node.started.substr(0, 10));
  }
  void simulated(const char* item, const Bilingual& value) { simulated(phrase(item), value); }
  void simulated(const Bilingual& item, const Bilingual& value) {
    add(item, value, "simulated", Bilingual("ocrtune plan"), fleet_.date);
  }

  void add_answer() {
    if (plan_.refused()) return;
    const CapacityRow* one = plan_.row(plan_.machines.high);
    if (!demand().asks_time()) {
      simulated("Machines, 95 % sure", grouped(plan_.machines.high));
      if (one != nullptr) {
        simulated("Probability with so many",
                  one->probability > 0.999 ? std::string("> 99.9 %") : percent(one->probability));
      }
    }
    if (one != nullptr) {
      if (one->latency_seconds > 0) {
        simulated("Latency at the percentile of the target",
                  milliseconds_text(one->latency_seconds) + " ms");
      }
      if (!demand().inference()) {
        simulated("Done, 95 % sure, within", duration_text(one->seconds.high));
      }
      if (one->tail_seconds > 0) {
        simulated("From the mean machine's end to the last one's",
                  duration_text(one->tail_seconds));
      }
    }
    if (!demand().inference()) return;
    if (!fleet_.year) {
      simulated("Machines that survive the loss of one", grouped(plan_.spare_machines));
      return;
    }
    const YearRow &now = fleet_.year->rows.front(), &last = fleet_.year->rows.back();
    simulated("Machines to buy now", fmt::format("{}", now.fleet.bought));
    simulated(phrase("Machines in {} months", {fmt::format("{}", last.month)}),
              fmt::format("{}", last.fleet.bought));
  }

  void add_load() {
    const double lines = mean_requests(demand().lines_per_page);
    given("Load at the peak", rate_words(demand().requests_per_second / lines, asked_unit(plan_)));
    if (demand().users > 0) {
      given("Users", grouped(demand().users));
      given("Time to think", duration_text(demand().think_seconds));
      if (demand().pages_each > 0) given("Pages of a user a day", grouped(demand().pages_each));
    } else if (demand().daily_requests > 0) {
      given("Load of a day", grouped(demand().daily_requests));
      stated("Peak over the day's mean", fmt::format("{:.3g}", demand().peak_factor.value),
             demand().peak_factor.given, "--peak");
    }
    if (!demand().lines_per_page.empty()) given("Lines of a page", fmt::format("{:.3g}", lines));
    if (demand().slo) given("Latency target", slo_target(*demand().slo));
    stated("Load balancer", std::string(demand().balancer == Balancer::random ? "random" : "turns"),
           demand().balancer.given, "--balancer");
    if (demand().trace.empty()) {
      assumed("Arrivals within the peak", phrase("Poisson, at an even rate"));
    }
    if (!fleet_.year) return;
    const YearDemand& year = fleet_.year->demand;
    stated("Growth a month", percent(year.growth), year.growth.given, "--growth");
    stated("Time with enough machines", percent(year.availability), year.availability.given,
           "--availability");
    stated("Time that a machine is up", percent(year.machine_availability),
           year.machine_availability.given, "--machine-availability");
    stated("Zones", fmt::format("{}", year.zones.value), year.zones.given, "--zones");
    const Bilingual warm_up = duration_text(year.warm_up_seconds);
    if (!year.warm_up_seconds.given && plan_.node.start_seconds > 0) {
      measured("Warm-up of a machine", warm_up);
    } else {
      stated("Warm-up of a machine", warm_up, year.warm_up_seconds.given, "--warm-up");
    }
  }

  void add_job() {
    const Interruptions& stops = demand().interruptions;
    given("Images or pages", fmt::format("{} x {:g}", grouped(demand().samples), demand().epochs));
    if (!demand().asks_time()) {
      given("Deadline", demand().deadline_time.empty() ? duration_text(demand().deadline_seconds)
                                                       : Bilingual(demand().deadline_time));
    }
    if (!stops.expected()) return assumed("Interruptions", phrase("none"));
    given("Interruptions",
          stops.counted ? phrase("{} in {} of machines", {fmt::format("{:g}", stops.seen),
                                                          duration_text(stops.watched_seconds)})
                        : phrase("one in {} of a machine", {duration_text(stops.watched_seconds)}));
    if (stops.restart_seconds > 0) given("Restart", duration_text(stops.restart_seconds));
    if (stops.checkpoint_every_seconds <= 0) return;
    given("Checkpoint every", duration_text(stops.checkpoint_every_seconds));
    given("Wait for a checkpoint", duration_text(stops.checkpoint_seconds));
  }

  void add_measured() {
    const NodeMeasurement& node = plan_.node;
    measured("Machine", node.machine.empty() ? phrase("unknown") : Bilingual(node.machine));
    measured("Setting", knobs_text(node.knobs));
    measured("Rate of one machine, 90 %", rate_interval(plan_.machine_rate, plan_.unit),
             plan_.extrapolated ? "extrapolated" : "measured");
    if (plan_.served_rate.median > 0) {
      const char* const item = "Rate within the latency target, 90 %";
      const Bilingual rate = rate_interval(plan_.served_rate, plan_.unit);
      plan_.served_measured ? measured(item, rate) : simulated(item, rate);
    }
    if (node.request_seconds_known) {
      const std::vector<double>& seconds = node.service.front().seconds;
      const auto both = [&](double share) {
        return fmt::format("{} ms, {} ms", milliseconds_text(share * median(seconds)),
                           milliseconds_text(share * quantile(seconds, 0.99)));
      };
      measured("One request alone, p50 and p99", both(node.alone_share));
      measured(
          phrase("One of {} requests in flight, p50 and p99", {fmt::format("{}", node.servers)}),
          both(1));
    }
    if (node.peak_bytes > 0) measured("Memory of one machine", format_bytes(node.peak_bytes));
    if (node.start_seconds > 0 && !fleet_.year) {
      measured("Start of a machine", duration_text(node.start_seconds));
    }
    assumed("Spread of machines and days", "±" + percent(plan_.errors.machines));
    if (plan_.errors.scaling > 0) {
      assumed("Error of scaling to another machine", "±" + percent(plan_.errors.scaling));
    }
  }

  void add_prices() {
    for (const KindPlan& kind : fleet_.kinds) {
      if (!kind.plan.demand.cost_per_hour) continue;
      const std::string name = fleet_.kinds.size() > 1 ? kind.name + ": " : "";
      given("Price of a machine an hour", name + money(*kind.plan.demand.cost_per_hour));
      if (!kind.cost_per_million) continue;
      simulated(phrase("Cost of a million {}", {phrase(asked_unit(plan_))}),
                name + fmt::format("{:.3g}", *kind.cost_per_million));
    }
  }

  void add_rows() {
    if (plan_.rows.empty()) return;
    const bool inference = demand().inference();
    const auto any = [&](auto has) {
      return std::any_of(plan_.rows.begin(), plan_.rows.end(), has);
    };
    const bool latency = any([](const CapacityRow& row) { return row.latency_seconds > 0; });
    const bool cost = any([](const CapacityRow& row) { return row.cost_per_hour.has_value(); });
    PlanTable table{"Machines and what they do",
                    {"#Machines", "#" + plan_.unit + "/s", inference ? "#busy" : "#takes"},
                    {}};
    if (latency) table.headings.emplace_back("#latency in ms");
    const bool asks_time = demand().asks_time();
    if (!asks_time) table.headings.emplace_back("#holds");
    if (cost) table.headings.emplace_back(inference ? "#cost an hour" : "#cost in all");
    if (!asks_time) table.headings.emplace_back("");
    for (const CapacityRow& row : plan_.rows) {
      const Bilingual seconds =
          std::isfinite(row.seconds.median) ? duration_text(row.seconds.median) : phrase("no end");
      std::vector<Bilingual> cells = {
          grouped(row.machines), interval_text(row.samples_per_second),
          inference ? Bilingual(format_percent(row.busy_share)) : seconds};
      if (latency) {
        cells.push_back(std::isfinite(row.latency_seconds)
                            ? Bilingual(milliseconds_text(row.latency_seconds))
                            : phrase("no end"));
      }
      if (!asks_time) cells.emplace_back(fmt::format("{:.0f} %", 100 * row.probability));
      if (cost) {
        const auto& price = inference ? row.cost_per_hour : row.cost;
        cells.emplace_back(price ? money(*price) : "–");
      }
      if (!asks_time) {
        cells.push_back(row.machines == plan_.machines.high ? phrase("enough")
                        : inference && row.machines == plan_.spare_machines
                            ? phrase("with one to spare")
                            : Bilingual());
      }
      table.rows.push_back(std::move(cells));
    }
    out_.tables.push_back(std::move(table));
  }

  void add_kinds() {
    if (fleet_.kinds.size() < 2) return;
    PlanTable table{"Kinds of machine",
                    {"Kind", "Machine", "#Machines", "#cost an hour", "#cost of a million"},
                    {}};
    for (const KindPlan& kind : fleet_.kinds) {
      const auto price = [](const std::optional<double>& value, bool exact) {
        return Bilingual(!value ? "–" : exact ? money(*value) : fmt::format("{:.3g}", *value));
      };
      const Bilingual machine = kind.plan.extrapolated ? phrase("{}, EXTRAPOLATED", {kind.machine})
                                                       : Bilingual(kind.machine);
      table.rows.push_back({kind.name, kind.plan.refused() ? kind_answer(kind.plan) : machine,
                            kind.plan.refused() ? "–" : grouped(kind.plan.machines.high),
                            price(kind.cost_per_hour, true), price(kind.cost_per_million, false)});
    }
    out_.tables.push_back(std::move(table));
  }

  void add_back_tests() {
    if (plan_.back_tests.empty() || (demand().inference() && !plan_.extrapolated)) return;
    PlanTable table{"Back-test: fitted on the smaller counts, asked for the larger",
                    {"#Processes or machines", "#predicted", "#measured", "#error"},
                    {}};
    for (const BackTest& test : plan_.back_tests) {
      table.rows.push_back({fmt::format("{}", test.predicted_at), interval_text(test.predicted),
                            number(test.measured), fmt::format("{:+.1f} %", 100 * test.error)});
    }
    out_.tables.push_back(std::move(table));
  }

  void add_year(const YearPlan& year) {
    const auto& price = demand().cost_per_hour;
    simulated("Machine hours of the year, fixed", grouped(year.fixed_machine_hours));
    if (price) simulated("Cost of the year, fixed", grouped(year.fixed_machine_hours * *price));
    PlanTable table{"The year ahead",
                    {"#Month", "#" + asked_unit(plan_) + "/s", "#N + k", "#bought", "#fixed hours"},
                    {}};
    const bool scaled = !demand().profile.parts.empty();  // else each hour is the peak
    if (scaled) {
      simulated("Machine hours of the year, scaled by the minute",
                grouped(year.scaled_machine_hours));
      if (price) simulated("Cost of the year, scaled", grouped(year.scaled_machine_hours * *price));
      table.headings.emplace_back("#scaled hours");
    }
    table.headings.emplace_back("#hours at risk");
    const double lines = mean_requests(demand().lines_per_page);
    for (const YearRow& row : year.rows) {
      // A quarter a line; year.csv has every month.
      if (row.month % 3 != 0) continue;
      table.rows.push_back({fmt::format("{}", row.month), number(row.requests_per_second / lines),
                            fmt::format("{}+{}", row.fleet.machines, row.fleet.spares),
                            fmt::format("{}", row.fleet.bought), grouped(row.fixed_hours)});
      if (scaled) table.rows.back().emplace_back(grouped(row.scaled_hours));
      const double risk = scaled ? row.scaled_risk_hours : row.fixed_risk_hours;
      table.rows.back().emplace_back(risk > 0 && risk < 0.001 ? "< 0.001"
                                                              : fmt::format("{:.2g}", risk));
    }
    out_.tables.push_back(std::move(table));
  }

  void add_autoscale(const AutoscalePlan& scale) {
    PlanTable table{"Autoscaling, by requests in flight",
                    {"", "#replicas", "#in flight of each", "#machine hours a day", "#too late"},
                    {}};
    const auto add_row = [&](const char* name, const std::string& replicas,
                             const std::string& target, double hours, double late_share) {
      table.rows.push_back({phrase(name), replicas, target, hours > 0 ? number(hours) : "–",
                            late_share < 0 ? "–" : percent(late_share)});
      const auto& price = demand().cost_per_hour;
      if (price) table.rows.back().emplace_back(hours > 0 ? money(hours * *price) : "–");
    };
    if (demand().cost_per_hour) table.headings.emplace_back("#cost a day");
    add_row("scaled", fmt::format("{}-{}", scale.min_replicas, scale.max_replicas),
            number(scale.target_in_flight), scale.machine_hours, scale.late_share);
    add_row("fixed", fmt::format("{}", scale.fixed_machines), "–", scale.fixed_machine_hours,
            scale.fixed_late_share);
    out_.tables.push_back(std::move(table));
  }

  void gap(const char* english, const std::vector<Bilingual>& holes = {}) {
    out_.gaps.push_back(phrase(english, holes));
  }

  void add_gaps() {
    gap("Other machines of this kind, and other days than {}.",
        {plan_.node.started.empty() ? phrase("that of the measurement")
                                    : Bilingual(plan_.node.started.substr(0, 10))});
    if (!demand().inference()) {
      gap("Whether interruptions come together, as when a zone is taken back.");
      gap(plan_.trains ? "Storage under the writes of checkpoints by all machines."
                       : "Storage and network under the reads of all machines.");
      if (!plan_.trains) gap("Shards whose pages are alike, such as one large book.");
      return;
    }
    if (!demand().lines_per_page.empty()) gap("Finding the lines on a page.");
    gap("What the network and the load balancer add to each answer.");
    gap(fleet_.year && fleet_.year->demand.zones > 1
            ? "How often a zone is lost, and machines that fail together: a rack, an image."
            : "Failures that take several machines at once: a rack, an image, a zone.");
  }

  // What the interval is made of, and what is left of it once the largest part is measured.
  void add_next() {
    struct Part {
      double deviation;
      double left;  // of its variance, after the advice
      const char* advice;
    };
    std::vector<Part> parts = {
        // Four times the evidence leaves a quarter of the variance.
        {plan_.errors.measurement, 0.25,
         "the measured rate: tune with four times the budget while nothing else runs"},
        {plan_.errors.machines, 0.25,
         "machines and days: tune on four machines of this kind and plan from each"},
        {plan_.errors.scaling, 0, "the scaled machine: tune on it"},
        {plan_.errors.load, 0.25, "the load: record a trace four times as long"},
        {plan_.errors.interruptions, 0.25,
         "interruptions: count them over four times the machine hours, or checkpoint more often"}};
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.deviation > b.deviation; });
    double all = 0;
    for (const Part& part : parts) all += part.deviation * part.deviation;
    double now = all;
    for (const Part& part : parts) {
      // A quarter of the variance is half of the interval; 0.27 forgives rounding.
      if (part.deviation <= 0 || now <= 0.27 * all) break;
      const double before = now;
      now = std::max(0.0, now - (1 - part.left) * part.deviation * part.deviation);
      out_.next.push_back(
          phrase("{}: ±{} becomes ±{}", {phrase(part.advice), percent(kRoot90 * std::sqrt(before)),
                                         percent(kRoot90 * std::sqrt(now))}));
    }
  }

  const FleetPlan& fleet_;
  const CapacityPlan& plan_;
  PlanDocument out_;
};

}  // namespace

PlanTable store_test_table(const std::vector<StoreBackTest>& tests) {
  PlanTable table{"Back-test: stored runs against each other",
                  {"Setting", "#predicted", "#measured", "#error", "", "figure", "from", "against"},
                  {}};
  for (const StoreBackTest& test : tests) {
    table.rows.push_back({knobs_text(test.knobs) + (test.slo.empty() ? "" : " " + test.slo),
                          interval_text(test.predicted), number(test.measured),
                          fmt::format("{:+.1f} %", 100 * test.error()),
                          phrase(test.held() ? "held" : "outside"),
                          phrase(predicted_figure_name(test.figure)), test.from, test.against});
  }
  return table;
}

PlanDocument plan_document(const FleetPlan& fleet) { return Builder(fleet).made(); }

}  // namespace ocrtune
